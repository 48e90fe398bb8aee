"""A child imports the standard library, `workers`, and what the workload itself imports."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.children import environment, measured

pytestmark = [pytest.mark.slow, pytest.mark.one_build]

# What is loaded, and from where, as seen in a workload's teardown.
SAVES_MODULES = """
    from workers.workloads.{module} import {name}

    {needs}

    @dataclass
    class Theirs({name}):
        async def teardown(self, worker: Worker) -> None:
            await super().teardown(worker)
            import json
            with open(f"{{os.environ['SAVED']}}-{{os.getpid()}}", "w") as file:
                json.dump(sorted(sys.modules), file)
"""

# Of the standard library, and asyncio does without: they would cost every child memory.
COSTLY = {"array", "importlib.metadata", "platform", "tomllib", "unittest", "multiprocessing"}


def modules_in(arguments: list[str], *folders: Path) -> set[str]:
    printed = subprocess.run(
        [sys.executable, *arguments],
        check=True,
        capture_output=True,
        text=True,
        env=environment(*folders),
    ).stdout
    return set(json.loads(printed))


@pytest.fixture
def strangers(tmp_path: Path) -> Callable[[set[str]], set[str]]:
    """Packages that are neither the standard library's nor there when Python has just started."""
    bare = modules_in(["-c", "import json, sys; print(json.dumps(sorted(sys.modules)))"], tmp_path)

    def found(modules: set[str]) -> set[str]:
        tops = {name.partition(".")[0] for name in modules - bare}
        return {top for top in tops - sys.stdlib_module_names if not top.startswith("_sysconfig")}

    return found


def loaded_in(folder: Path) -> list[set[str]]:
    return [set(json.loads(file.read_text())) for file in sorted(folder.glob("loaded-*"))]


@pytest.mark.parametrize(
    ("module", "name", "model"),
    [
        ("compute", "Compute", "threads"),
        ("echo", "Echo", "threads"),
        ("echo", "Echo", "processes"),
        ("stream", "Stream", "threads"),
    ],
)
def test_workload_of_the_standard_library_brings_in_nothing_else(
    theirs: Callable[[str], str],
    strangers: Callable[[set[str]], set[str]],
    tmp_path: Path,
    module: str,
    name: str,
    model: str,
) -> None:
    workload = theirs(SAVES_MODULES.format(module=module, name=name, needs=""))
    measured({"workload": workload, "model": model}, tmp_path, SAVED=str(tmp_path / "loaded"))
    (loaded,) = loaded_in(tmp_path)
    assert strangers(loaded) == {"workers", "theirs"}
    assert not loaded & COSTLY


# What the libraries themselves are made of.
TRIOS = {"trio", "attr", "attrs", "idna", "outcome", "sniffio", "sortedcontainers"}
ANYIOS = {"anyio", "idna", "typing_extensions"}


WAITS = """
import json, os, sys
from dataclasses import dataclass
from workers import Worker, Workload

@dataclass
class Theirs(Workload):
    libraries = ("trio", "anyio")

    async def run(self, worker: Worker) -> None:
        await worker.stopped()

    async def teardown(self, worker: Worker) -> None:
        with open(f"{os.environ['SAVED']}-{os.getpid()}", "w") as file:
            json.dump(sorted(sys.modules), file)
"""


@pytest.mark.parametrize("loop", ["trio", "anyio/trio"])
def test_worker_on_trio_does_without_asyncio(
    strangers: Callable[[set[str]], set[str]], tmp_path: Path, loop: str
) -> None:
    (tmp_path / "theirs.py").write_text(WAITS)
    cell = {"workload": "theirs:Theirs", "loop": loop}
    measured(cell, tmp_path, SAVED=str(tmp_path / "loaded"))
    (loaded,) = loaded_in(tmp_path)
    assert {"trio"} <= strangers(loaded) <= {"workers", "theirs"} | TRIOS | ANYIOS
    assert ("anyio" in loaded) == (loop == "anyio/trio")
    assert "asyncio" not in loaded


def test_what_a_workload_imports_is_seen(
    theirs: Callable[[str], str], strangers: Callable[[set[str]], set[str]], tmp_path: Path
) -> None:
    workload = theirs(SAVES_MODULES.format(module="compute", name="Compute", needs="import uvloop"))
    measured({"workload": workload}, tmp_path, SAVED=str(tmp_path / "loaded"))
    (loaded,) = loaded_in(tmp_path)
    assert strangers(loaded) >= {"workers", "theirs", "uvloop"}


def test_host_of_processes_does_not_import_the_workload(
    theirs: Callable[[str], str], tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import atexit, json, os, sys\n"
        "def save():\n"
        "    with open(f\"{os.environ['SAVED']}-{os.getpid()}\", 'w') as file:\n"
        "        json.dump(sorted(sys.modules), file)\n"
        "atexit.register(save)\n"
    )
    workload = theirs("from workers.workloads.compute import Compute as Theirs")
    cell = {"workload": workload, "model": "processes", "workers": 2, "loop": "uvloop"}
    measured(cell, tmp_path, SAVED=str(tmp_path / "loaded"))
    with_it = [{"theirs", "uvloop"} <= loaded for loaded in loaded_in(tmp_path)]
    without = [not {"theirs", "uvloop"} & loaded for loaded in loaded_in(tmp_path)]
    assert (sum(with_it), sum(without)) == (2, 1)
