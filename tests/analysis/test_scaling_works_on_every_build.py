"""On 3.14t, too, every module of `scaling` can be imported, and a study runs from end to end.

The other tests of the analysis run on 3.14 alone: it is pure Python on wheels that exist for both.
"""

import subprocess
import sys
from pathlib import Path

import pytest

import scaling
from tests.support.children import FREE_THREADED, PATIENCE_S
from tests.support.cli import BUILD, environment

pytestmark = [pytest.mark.slow, pytest.mark.free_threaded]

# In a process of its own: an import that enables the GIL cannot be undone.
IMPORT_ALL = """
import pkgutil, sys, warnings
warnings.simplefilter("error")
import scaling
for module in pkgutil.walk_packages(scaling.__path__, "scaling."):
    if not module.name.endswith("__main__"):
        __import__(module.name)
warnings.simplefilter("default")
count = sum(name.startswith("scaling") for name in sys.modules)
print(count, getattr(sys, "_is_gil_enabled", lambda: True)(), flush=True)
scaling.cli.main()
"""


def test_every_module_can_be_imported_and_a_study_runs_from_end_to_end(tmp_path: Path) -> None:
    asked = (
        *("run", "--arm", BUILD, "--workload", "echo", "--loop", "asyncio"),
        *("--workers", "1,2", "--blocks", "1", "--seconds", "0.2", "--no-controls"),
        *("--no-aa-pairs", "--output", "out"),
    )
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL, *asked],
        env=environment(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    imported, gil_enabled = done.stdout.partition("\n")[0].split()
    files = [*Path(scaling.__file__).parent.rglob("*.py")]
    assert int(imported) >= len(files) - 1  # all but __main__
    assert gil_enabled == str(not FREE_THREADED)
    out = tmp_path / "out"
    frame = scaling.load(out)
    assert (frame["operations"] > 0).all()
    assert set(frame["gil_enabled"]) == {not FREE_THREADED}
    assert "echo" in (out / "tables.md").read_text()
    assert [*(out / "plots").glob("throughput-echo.svg")]
    assert "<svg" in (out / "report.html").read_text()
