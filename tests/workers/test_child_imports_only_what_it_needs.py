"""A child finds `workers` alone and imports it, the standard library and what a workload needs."""

import errno
import json
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scaling.builds.environments import own_source_hash, workers_path, workers_source_hash
from tests.support.children import BEGINNING, Own, captured, measured
from tests.support.refusing import failing

pytestmark = [pytest.mark.slow, pytest.mark.one_build]

# What is loaded, as seen in a workload's teardown.
SAVES = """
    {imports}

    @dataclass
    class Theirs({base}):
        libraries = ("asyncio", "trio", "anyio")

        async def run(self, worker: Worker) -> None:
            await {run}

        async def teardown(self, worker: Worker) -> None:
            await super().teardown(worker)
            import json
            with open(f"{{os.environ['SAVED']}}-{{os.getpid()}}", "w") as file:
                json.dump(sorted(sys.modules), file)
"""
# Of the standard library, and asyncio does without: they would cost every child memory.
COSTLY = {"array", "importlib.metadata", "platform", "tomllib", "unittest", "multiprocessing"}
# What the libraries themselves are made of.
TRIOS = {"trio", "attr", "attrs", "idna", "outcome", "sniffio", "sortedcontainers"}
ANYIOS = {"anyio", "idna", "typing_extensions"}


def loaded_in(own: Own, source: str, **cell: Any) -> list[set[str]]:
    """The modules of each process that saved its own."""
    own.variables["SAVED"] = str(own.folder / "loaded")
    own.measured(source, **cell)
    return [set(json.loads(file.read_text())) for file in own.folder.glob("loaded-*")]


@pytest.fixture
def strangers(own: Own) -> Callable[[set[str]], set[str]]:
    """Packages that are neither the standard library's nor there when Python has just started."""
    program = "import json, sys; print(json.dumps(sorted(sys.modules)))"
    bare = captured([sys.executable, "-c", program], own.folder).stdout

    def found(modules: set[str]) -> set[str]:
        tops = {name.partition(".")[0] for name in modules - set(json.loads(bare))}
        return {top for top in tops - sys.stdlib_module_names if not top.startswith("_sysconfig")}

    return found


def test_workload_of_the_standard_library_brings_in_nothing_else(
    own: Own, strangers: Callable[[set[str]], set[str]]
) -> None:
    imports = "from workers.workloads.echo import Echo"
    (loaded,) = loaded_in(
        own, SAVES.format(imports=imports, base="Echo", run="super().run(worker)")
    )
    assert strangers(loaded) == {"workers", "theirs"}
    assert not loaded & COSTLY


def test_worker_on_trio_does_without_asyncio(
    own: Own, strangers: Callable[[set[str]], set[str]]
) -> None:
    source = SAVES.format(imports="", base="Workload", run="worker.stopped()")
    without = BEGINNING.replace("import asyncio, os", "import os")
    (own.folder / "theirs.py").write_text(without + textwrap.dedent(source))
    own.variables["SAVED"] = str(own.folder / "loaded")
    measured({"workload": "theirs:Theirs", "loop": "anyio/trio"}, own.folder, **own.variables)
    (file,) = own.folder.glob("loaded-*")
    loaded = set(json.loads(file.read_text()))
    assert {"trio", "anyio"} <= strangers(loaded) <= {"workers", "theirs"} | TRIOS | ANYIOS
    assert "asyncio" not in loaded


def test_host_of_processes_does_not_import_the_workload(own: Own) -> None:
    (own.folder / "sitecustomize.py").write_text(
        "import atexit, json, os, sys\n"
        "def save():\n"
        "    with open(f\"{os.environ['SAVED']}-{os.getpid()}\", 'w') as file:\n"
        "        json.dump(sorted(sys.modules), file)\n"
        "atexit.register(save)\n"
    )
    source = "from workers.workloads.compute import Compute as Theirs"
    every = loaded_in(own, source, model="processes", workers=2, loop="uvloop")
    with_it = [{"theirs", "uvloop"} <= loaded for loaded in every]
    without = [not {"theirs", "uvloop"} & loaded for loaded in every]
    assert (sum(with_it), sum(without)) == (2, 1)


def imports(folder: Path, name: str) -> bool:
    """Whether a process that has `folder` on its path can import `name`."""
    done = captured([sys.executable, "-c", f"import {name}"], PYTHONPATH=str(folder))
    assert done.returncode == 0 or f"No module named {name!r}" in done.stderr
    return done.returncode == 0


def test_workers_is_found_and_scaling_is_not() -> None:
    with workers_path() as folder:
        assert imports(folder, "workers")
        assert not imports(folder, "scaling")
    program = (
        "import sys; from scaling.builds.environments import workers_folder; workers_folder(); "
    )
    program += "sys.exit('workers' in sys.modules)"
    assert captured([sys.executable, "-c", program]).returncode == 0


def test_a_driver_leaves_nothing_behind_but_one_link_in_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is killed could not remove anything. Where it cannot be linked there is a copy."""
    monkeypatch.setenv("SCALING_CACHE", str(tmp_path / "cache"))
    with workers_path() as once, workers_path() as folder:
        assert once == folder
        assert [path.name for path in folder.iterdir()] == ["workers"]
    links = [path for path in (tmp_path / "cache").rglob("*") if path.is_symlink()]
    assert links == [folder / "workers"]
    package = tmp_path / "workers"
    (package / "__pycache__").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    monkeypatch.setattr(Path, "symlink_to", failing(errno.EPERM))
    with workers_path(package) as folder:
        assert not (folder / "workers").is_symlink()
        assert [path.name for path in (folder / "workers").iterdir()] == ["__init__.py"]


@pytest.fixture
def package(tmp_path: Path) -> Path:
    for name, text in (("a.py", "one"), ("b.py", "two"), ("site/page.html", "three")):
        path = tmp_path / "workers" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "workers"


def test_its_hash_changes_with_any_file(package: Path) -> None:
    hashes = {workers_source_hash(package)}
    (package / "a.py").write_text("changed")
    hashes.add(workers_source_hash(package))
    (package / "site/page.html").write_text("changed")
    hashes.add(workers_source_hash(package))
    (package / "b.py").rename(package / "c.py")
    hashes.add(workers_source_hash(package))
    assert len(hashes) == 4
    (package / "__pycache__").mkdir()  # it is no other one once it ran
    (package / "__pycache__/a.cpython-314.pyc").write_bytes(b"compiled")
    assert workers_source_hash(package) in hashes


def test_ones_own_code_has_a_hash_of_its_own(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    (mine / ".venv/lib").mkdir(parents=True)
    (mine / "nap.py").write_text("one")
    before = own_source_hash([str(mine)])
    (mine / ".venv/lib/other.py").write_text("not mine")
    (mine / "notes.txt").write_text("no code")
    assert own_source_hash([str(mine)]) == before
    (mine / "nap.py").write_text("two")
    changed = own_source_hash([str(mine)])
    (mine / "new.py").write_text("")
    assert len({None, before, changed, own_source_hash([str(mine)])}) == 4
    assert own_source_hash([]) is None


# A small part of FastAPI that it imports when an application starts.
LATER = {"fastapi.telemetry._runtime"}

SERVE = """
import asyncio, json, os, sys
from workers import Worker
from workers.host.inbound import Inbound
from workers.loops import runner_for
from workers.system import socket_of
from workers.workloads.serve import Serve

serve = Serve(server=sys.argv[1])
serve.load()
worker, inbound = Worker(0, 1, {}), Inbound("port", 1)
worker.inbound = "port", socket_of(os.dup(inbound.descriptor(0)))
loaded = set(sys.modules)

async def session():
    await serve.setup(worker)
    await serve.teardown(worker)

runner_for("asyncio").run(session)
inbound.close()
print(json.dumps(sorted(set(sys.modules) - loaded)))
"""


@pytest.mark.parametrize("server", ["aiohttp", "fastapi"])
def test_nothing_is_imported_by_a_worker(server: str) -> None:
    done = captured([sys.executable, "-W", "error", "-c", SERVE, server])
    assert done.returncode == 0, done.stderr
    assert set(json.loads(done.stdout)) <= LATER
