"""Every setting, and the GIL, is read back from inside every process that it applies to."""

import json
import mmap
import os
import platform
import sys
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import pytest

from scaling.journal.record import GilStates, ProcessFacts, Record, Switch
from tests.support.children import FREE_THREADED, Own, captured, finish, measured
from tests.support.wheels import compile_flips
from workers.readback import gil
from workers.readback.switches import Switches
from workers.services.serving import listen, url_of

pytestmark = pytest.mark.slow

# Threads and sub-interpreters have the GIL and allocator of their build: both builds run them.
EVERY_MODEL = pytest.mark.parametrize(
    "model",
    [
        *("threads", "interpreters"),
        *(pytest.param(each, marks=pytest.mark.one_build) for each in ("processes", "forked")),
    ],
)


def processes(record: Record, model: str) -> Iterator[ProcessFacts]:
    yield record.process
    inside = [worker.process for worker in record.workers]
    assert (None in inside) == (model == "threads")
    yield from (process for process in inside if process is not None)


def cell(model: str, **more: object) -> dict[str, object]:
    return {"workload": "compute", "workers": 2, "model": model, **more}


@EVERY_MODEL
def test_nothing_asked_nothing_changed(model: str) -> None:
    record = measured(cell(model))
    host, *workers = (process.os_threads for process in processes(record, model))
    assert host == 3 if model == "threads" else host  # the workers', and the host's own
    # A sub-interpreter has no threads of its own: it would report those of its process.
    assert (workers == [None, None]) == (model == "interpreters")
    for process in processes(record, model):
        assert process.hash_seed == "random"
        assert process.gil == (ALWAYS_OFF if FREE_THREADED else ALWAYS_ON)
        assert process.version == platform.python_version()
        assert process.free_threaded == FREE_THREADED
        assert process.allocator == ("mimalloc" if FREE_THREADED else "pymalloc")
        assert process.gc_enabled
        assert not process.debug
        assert process.gc_frozen == (model == "forked")
        assert process.context_items == 0
        assert process.thread_inherit_context == process.context_aware_warnings == FREE_THREADED


SETS_CONTEXT = """
    from contextvars import ContextVar
    from workers.workloads.compute import Compute

    @dataclass
    class Theirs(Compute):
        def load(self) -> None:
            ContextVar("theirs").set(1)
    """


@pytest.mark.one_build
def test_the_ambient_context_has_what_imports_leave_in_it(own: Own) -> None:
    """In every process that imports the workload, which a host of processes does not."""
    record = own.measured(SETS_CONTEXT, model="processes", workers=2)
    assert [each.context_items for each in processes(record, "processes")] == [0, 1, 1]


SWITCH = "asyncio.events._USE_NEW_SCHEDULER"
VARIABLE = "PYTHONASYNCIOUSEIOURING"


@pytest.mark.parametrize(
    "model", ["interpreters", pytest.param("processes", marks=pytest.mark.one_build)]
)
def test_every_setting_arrives(model: str) -> None:
    """All in one run: each reaches a process in a way of its own, whatever the others are."""
    settings = {"PYTHONMALLOC": "mimalloc", "PYTHON_GIL": "1", "PYTHONASYNCIODEBUG": "1"}
    switches = {VARIABLE: "1", SWITCH: True}
    asked = cell(model, gc=False, gc_threshold=50_000, switches=switches)
    record = measured(asked, **settings, **{VARIABLE: "1", "PYTHONHASHSEED": "4711"})
    inside = [*processes(record, model)]
    assert len(inside) == 3
    for process in inside:
        assert process.allocator == "mimalloc"
        assert process.gil.seen == (True,) * 4
        assert process.gil.enabled_by is None
        assert not process.gc_enabled
        assert process.gc_threshold == 50_000
        assert process.debug  # of the loops: the host itself has none
        assert process.hash_seed == "4711"
        assert process.switches == (
            Switch(name=VARIABLE, value="1"),
            Switch(name=SWITCH, value=True, was_there=False),
        )


@pytest.mark.one_build
def test_a_switch_that_did_not_arrive_is_reported_and_one_of_no_module_ends_the_run() -> None:
    there = "asyncio.constants.LOG_THRESHOLD_FOR_CONNLOST_WRITES"
    asked = cell("threads", switches={VARIABLE: "1", there: True})
    process = measured(asked, PYTHONMALLOC="malloc", PYTHONHASHSEED="0").process
    assert (process.allocator, process.hash_seed) == ("malloc", "0")
    assert process.switches == (
        Switch(name=VARIABLE, value=None),
        Switch(name=there, value=True, was_there=True),
    )
    failure = finish(cell("threads", switches={"no_such_module.switch": True})).failure
    assert failure.phase == "import"
    assert "no_such_module" in failure.error


@pytest.mark.one_build
def test_a_library_in_place_of_another_is_read_from_what_is_loaded(tmp_path: Path) -> None:
    """As a preloaded allocator is; its file may have a longer version."""
    file = tmp_path / "libown.so.4.5.10"
    file.write_bytes(bytes(mmap.PAGESIZE))
    with file.open("r+b") as opened, mmap.mmap(opened.fileno(), 0):
        for library, loaded in (("libown.so.4", True), ("libown.so.40", False)):
            (found,) = Switches({"LD_PRELOAD": library}).read_back()
            value = library if loaded else None
            assert found == {"name": "LD_PRELOAD", "value": value, "was_there": None}


DESCRIBES = "import json; from workers.describe import _python; print(json.dumps(_python()))"


@pytest.mark.parametrize(
    ("variables", "is_on", "allocator"),
    [
        ({}, not FREE_THREADED, "mimalloc" if FREE_THREADED else "pymalloc"),
        ({"PYTHON_GIL": "1", "PYTHONMALLOC": "mimalloc"}, True, "mimalloc"),
    ],
)
def test_a_description_of_the_interpreter_says_the_same(
    variables: dict[str, str], is_on: bool, allocator: str
) -> None:
    python = json.loads(captured([sys.executable, "-c", DESCRIBES], **variables).stdout)
    assert (python["gil_enabled"], python["allocator"]) == (is_on, allocator)
    assert python["version"] == platform.python_version()
    assert python["free_threaded"] == FREE_THREADED
    assert ("--disable-gil" in python["config_args"]) == FREE_THREADED
    assert not [each for each in python["config_args"] if os.sep in each]  # no path


@pytest.mark.one_build
def test_the_url_of_a_service_has_no_name_for_which_clients_would_need_threads() -> None:
    """An event loop resolves names in a pool of threads."""
    with listen("127.0.0.1", 0) as listening:
        host = urlsplit(url_of(listening)).hostname
    assert host
    assert ip_address(host).is_loopback  # raises for a name


ALWAYS_ON = GilStates(started=True, imported=True, opened=True, closed=True)
ALWAYS_OFF = GilStates(started=False, imported=False, opened=False, closed=False)
FLIPPED = GilStates(started=False, imported=True, opened=True, closed=True, enabled_by="flips")


@pytest.fixture(scope="module")
def flips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the extension `flips` in it, compiled for the running build."""
    return compile_flips(tmp_path_factory.mktemp("extension"))


FLIPPING = "import flips\nfrom workers.workloads.compute import Compute as Theirs\n"


@pytest.mark.free_threaded
@pytest.mark.needs("cc")
@pytest.mark.parametrize("model", ["threads", "processes"])
def test_extension_that_turns_it_on_is_named_in_every_process(
    flips: Path, own: Own, model: str
) -> None:
    """Also in the host, if that is what imports."""
    cell = {"workload": own.write(FLIPPING), "workers": 2, "model": model}
    host, *inside = processes(measured(cell, own.folder, flips), model)
    assert [each.gil for each in inside] == [FLIPPED] * (0 if model == "threads" else 2)
    assert host.gil == (ALWAYS_OFF if model == "processes" else FLIPPED)


@pytest.mark.free_threaded
@pytest.mark.needs("cc")
@pytest.mark.parametrize("method", ["setup", "run"])
def test_extension_loaded_late_is_seen(flips: Path, own: Own, method: str) -> None:
    """Before the window, and at the end of one in which it is loaded."""
    late = own.write(f"""
        @dataclass
        class Theirs(Workload):
            finite = True
            async def run(self, worker: Worker) -> None: ...
            async def {method}(self, worker: Worker) -> None:
                import flips
        """)
    gil = measured({"workload": late}, own.folder, flips).process.gil
    assert gil == msgspec.structs.replace(FLIPPED, imported=False, opened=method == "setup")


def test_a_gil_is_on_if_it_stays_on_and_because_of_the_outermost_import(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is on for a moment while another thread imports an extension module."""
    states = iter([True, True, False])
    monkeypatch.setattr(gil, "gil_enabled", lambda: next(states))
    monkeypatch.setattr(gil, "LOOK_S", 0)
    assert not gil.stays_enabled()
    monkeypatch.setattr(gil, "gil_enabled", lambda: True)
    assert gil.stays_enabled()
    watch = gil.GilWatch()
    with watch.watching("outer"):
        with watch.watching("inner"):
            pass
        assert watch.enabled_by is None
    assert watch.enabled_by == "outer"
