"""The import contracts in pyproject.toml hold, and each one fails when an import breaks it."""

import shutil
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest

from tests.support.children import ROOT

pytestmark = pytest.mark.slow

LINT_IMPORTS = Path(sys.executable).with_name("lint-imports")

KEPT = "Contracts: 5 kept, 0 broken."
DOWNWARDS = "Imports go downwards BROKEN"
INSIDE = "Imports inside the analysis go downwards BROKEN"
CIRCLES = "What stands side by side in a package imports in one direction BROKEN"
FRONT = "Nothing inside imports the public front BROKEN"
JSON_ONLY = "The study and what it measures exchange JSON only BROKEN"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The sources and the contracts, where a test may change them."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for package in ("scaling", "workers"):
        ignored = shutil.ignore_patterns("__pycache__", "pins")
        shutil.copytree(ROOT / package, tmp_path / package, ignore=ignored)
    return tmp_path


def checked(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [LINT_IMPORTS, "--no-cache", "--no-logo"],
        cwd=folder,
        env={"COLUMNS": "200", "PYTHONSAFEPATH": "1"},
        capture_output=True,
        text=True,
    )


def test_the_contracts_hold(copy: Path) -> None:
    done = checked(copy)
    assert done.returncode == 0, done.stdout
    assert KEPT in done.stdout


PLANTED = {
    DOWNWARDS: (
        ("scaling/base", "import scaling.journal.folder"),
        ("scaling/base", "def later(): from scaling.cli import app"),
        ("scaling/report", "import scaling.run.session"),
        ("scaling/run", "import scaling.report.files"),
    ),
    INSIDE: (
        ("scaling/analysis/validity", "import scaling.analysis.table.stacks"),
        ("scaling/analysis/statistics", "import scaling.analysis.curves"),
        ("scaling/analysis/laws", "import scaling.analysis.controls"),
    ),
    FRONT: (("scaling/cli", "from scaling import load"),),
    JSON_ONLY: (
        ("scaling/run", "import workers.cell"),
        ("workers/host", "import scaling.base.errors"),
    ),
}


@pytest.mark.parametrize("broken", PLANTED)
def test_every_import_that_breaks_one_is_found(copy: Path, broken: str) -> None:
    names = [f"planted_{number}" for number in range(len(PLANTED[broken]))]
    for name, (package, imports) in zip(names, PLANTED[broken], strict=True):
        (copy / package / f"{name}.py").write_text(f"{imports}\n")
    done = checked(copy)
    assert done.returncode == 1
    assert broken in done.stdout
    assert [name for name in names if name not in done.stdout] == []


def test_a_circle_between_packages_is_found(copy: Path) -> None:
    tables, runtimes = copy / "scaling/report/tables", copy / "scaling/builds/runtimes"
    (tables / "planted.py").write_text("import scaling.report.plots.style\n")
    (runtimes / "planted.py").write_text("def later(): from scaling.builds.arms import Arm\n")
    done = checked(copy)
    assert done.returncode == 1
    assert CIRCLES in done.stdout
    for package in ("scaling.report", "scaling.builds"):
        assert f"No cycles are allowed in {package}." in done.stdout


def test_no_file_imports_itself_through_others() -> None:
    """Not for its types alone, either; graphlib raises an error that names the circle."""
    graph = grimp.build_graph("scaling", "workers", cache_dir=None)
    imports = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    TopologicalSorter(imports).prepare()


@pytest.mark.parametrize("folder", ["scaling", "scaling/analysis"])
def test_a_new_package_needs_a_layer(copy: Path, folder: str) -> None:
    (copy / folder / "somewhere").mkdir()
    (copy / folder / "somewhere/__init__.py").touch()
    done = checked(copy)
    assert done.returncode == 1
    assert "somewhere" in done.stdout
