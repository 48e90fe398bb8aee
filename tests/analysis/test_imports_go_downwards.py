"""An import that breaks a contract of pyproject.toml is found, and no files import in circles."""

import shutil
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest

from tests.support.children import ROOT

LINT_IMPORTS = Path(sys.executable).with_name("lint-imports")

DOWNWARDS = "Imports go downwards BROKEN"
INSIDE = "Imports inside the analysis go downwards BROKEN"
CIRCLES = "What stands side by side in a package imports in one direction BROKEN"
MEASURED = "Imports inside the measured program go downwards BROKEN"
FRONT = "Nothing inside imports the public front BROKEN"
JSON_ONLY = "The study and what it measures exchange JSON only BROKEN"

PLANTED = {
    DOWNWARDS: (
        ("scaling/base", "import scaling.journal.file"),
        ("scaling/base", "def later(): from scaling.cli import app"),
        ("scaling/report", "import scaling.run.session"),
        ("scaling/run", "import scaling.report.files"),
    ),
    INSIDE: (
        ("scaling/analysis/validity", "import scaling.analysis.table.ticks"),
        ("scaling/analysis/statistics", "import scaling.analysis.tables.study"),
        ("scaling/analysis/tables", "import scaling.analysis.gate"),
    ),
    CIRCLES: (
        ("scaling/report/render", "import scaling.report.view.view"),
        ("scaling/builds/runtimes", "def later(): from scaling.builds.arms import Arm"),
    ),
    MEASURED: (
        ("workers/worker", "import workers.host.models"),
        ("workers/services", "def later(): from workers.workloads.echo import Echo"),
    ),
    FRONT: (("scaling/cli", "from scaling import load"),),
    JSON_ONLY: (
        ("scaling/run", "import workers.cell"),
        ("workers/host", "import scaling.base.errors"),
    ),
}


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What import-linter says of the sources when all of these imports are added to them."""
    copy = tmp_path_factory.mktemp("copy")
    shutil.copy(ROOT / "pyproject.toml", copy)
    for package in ("scaling", "workers"):
        ignored = shutil.ignore_patterns("__pycache__", "pins")
        shutil.copytree(ROOT / package, copy / package, ignore=ignored)
    for number, (package, imports) in enumerate(each for some in PLANTED.values() for each in some):
        (copy / package / f"planted_{number}.py").write_text(f"{imports}\n")
    for package in ("scaling/beside", "scaling/analysis/inside"):  # packages without a layer
        (copy / package).mkdir()
        (copy / package / "__init__.py").touch()
    done = subprocess.run(
        [LINT_IMPORTS, "--no-cache", "--no-logo"],
        cwd=copy,
        env={"COLUMNS": "200", "PYTHONSAFEPATH": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    return done.stdout


@pytest.mark.thorough
def test_every_import_that_breaks_a_contract_is_found(said: str) -> None:
    """That none is broken as things are is found by the lint session."""
    assert [contract for contract in PLANTED if contract not in said] == []
    names = [f"planted_{number}" for number in range(sum(map(len, PLANTED.values())))]
    of_circles = names[7:9]  # of these the packages are named
    assert [name for name in names if name not in said and name not in of_circles] == []
    for package in ("scaling.report", "scaling.builds"):
        assert f"No cycles are allowed in {package}." in said
    assert "beside" in said  # a new package needs a layer
    assert "inside" in said.replace("Imports inside", "")


@pytest.mark.slow
def test_no_file_imports_itself_through_others() -> None:
    """Not for its types alone, either; graphlib raises an error that names the circle."""
    graph = grimp.build_graph("scaling", "workers", cache_dir=None)
    imports = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    TopologicalSorter(imports).prepare()
