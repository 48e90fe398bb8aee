"""Every setting is read back from inside every process that it applies to."""

import asyncio
import mmap
import platform
from collections.abc import Iterator
from pathlib import Path

import pytest

from scaling.journal.record import ProcessFacts, Record, Switch
from tests.support.children import FREE_THREADED, finish, measured
from tests.support.halves import on_this_build
from workers.readback.switches import Switches

pytestmark = pytest.mark.slow

EVERY_MODEL = ["threads", "processes", "forked", "interpreters"]
MODELS = pytest.mark.parametrize("model", EVERY_MODEL)


def processes(record: Record, model: str) -> Iterator[ProcessFacts]:
    yield record.process
    inside = [worker.process for worker in record.workers]
    assert (None in inside) == (model == "threads")
    yield from (process for process in inside if process is not None)


def cell(model: str, **more: object) -> dict[str, object]:
    return {"workload": "compute", "workers": 2, "model": model, **more}


@MODELS
def test_nothing_asked_nothing_changed(model: str) -> None:
    for process in processes(measured(cell(model)), model):
        assert process.version == platform.python_version()
        assert process.free_threaded == FREE_THREADED
        assert process.allocator == ("mimalloc" if FREE_THREADED else "pymalloc")
        assert process.gc_enabled
        assert not process.debug
        assert process.gc_frozen == (model == "forked")
        assert process.context_items == 0
        assert process.thread_inherit_context == process.context_aware_warnings == FREE_THREADED


SWITCH = "asyncio.events._USE_NEW_SCHEDULER"
VARIABLE = "PYTHONASYNCIOUSEIOURING"


@MODELS
def test_every_setting_arrives(model: str) -> None:
    """All in one run: each reaches a process in a way of its own, whatever the others are."""
    settings = {"PYTHONMALLOC": "mimalloc", "PYTHON_GIL": "1", "PYTHONASYNCIODEBUG": "1"}
    switches = {VARIABLE: "1", SWITCH: True}
    asked = cell(model, gc=False, gc_threshold=50_000, switches=switches)
    record = measured(asked, **settings, **{VARIABLE: "1"})
    inside = [*processes(record, model)]
    assert len(inside) == (1 if model == "threads" else 3)
    for process in inside:
        assert process.allocator == "mimalloc"
        assert process.gil.seen == (True,) * 4
        assert process.gil.enabled_by is None
        assert not process.gc_enabled
        assert process.gc_threshold == 50_000
        assert process.debug  # of the loops: the host itself has none
        assert process.switches == (
            Switch(name=VARIABLE, value="1"),
            Switch(name=SWITCH, value=True, was_there=False),
        )


@pytest.mark.parametrize(("seed", "model"), on_this_build(["0", "4711"], EVERY_MODEL))
def test_the_hash_seed_arrives(model: str, seed: str) -> None:
    record = measured(cell(model), PYTHONHASHSEED=seed)
    assert {process.hash_seed for process in processes(record, model)} == {seed}


@pytest.mark.parametrize("variables", [{}, {"PYTHONHASHSEED": "random"}])
def test_a_hash_seed_that_did_not_arrive_is_reported(variables: dict[str, str]) -> None:
    assert measured(cell("threads"), **variables).process.hash_seed == "random"


def test_allocator_of_the_c_library_arrives_where_there_is_one() -> None:
    allocator = "mimalloc" if FREE_THREADED else "malloc"
    record = measured(cell("threads"), PYTHONMALLOC=allocator)
    assert record.process.allocator == allocator


def test_cpython_itself_reads_neither_switch() -> None:
    sources = [path.read_text() for path in Path(asyncio.__file__).parent.glob("*.py")]
    assert any("PYTHONASYNCIODEBUG" in source for source in sources)
    assert not any(VARIABLE in source for source in sources)


def test_a_switch_that_did_not_arrive_is_reported() -> None:
    there = "asyncio.constants.LOG_THRESHOLD_FOR_CONNLOST_WRITES"
    record = measured(cell("threads", switches={VARIABLE: "1", there: True}))
    assert record.process.switches == (
        Switch(name=VARIABLE, value=None),
        Switch(name=there, value=True, was_there=True),
    )


def test_a_library_in_place_of_another_is_read_from_what_is_loaded() -> None:
    """An allocator that is preloaded is one of them; asked for and not there, it is not."""
    loaded, missing = "libc.so.6", "libjemalloc.so.2"
    for library, value in ((loaded, loaded), (missing, None)):
        (found,) = Switches({"LD_PRELOAD": library}).read_back()
        assert found == {"name": "LD_PRELOAD", "value": value, "was_there": None}


def test_the_file_of_a_library_may_have_a_longer_version(tmp_path: Path) -> None:
    file = tmp_path / "libown.so.4.5.10"
    file.write_bytes(bytes(mmap.PAGESIZE))
    with file.open("r+b") as opened, mmap.mmap(opened.fileno(), 0):
        for library, value in (("libown.so.4", "libown.so.4"), ("libown.so.40", None)):
            (found,) = Switches({"LD_PRELOAD": library}).read_back()
            assert found["value"] == value


def test_a_switch_of_no_module_ends_the_run() -> None:
    failure = finish(cell("threads", switches={"no_such_module.switch": True})).record.failure
    assert failure is not None
    assert failure.phase == "import"
    assert "no_such_module" in failure.error


@pytest.mark.parametrize(
    ("loop", "model"), on_this_build(["asyncio", "uvloop"], ["threads", "processes"])
)
def test_loop_in_use_is_named(loop: str, model: str) -> None:
    record = measured(cell(model, loop=loop))
    in_use = record.loop
    assert in_use is not None
    assert in_use.name == loop
    assert in_use.class_ is not None
    assert in_use.class_.startswith(loop)
    assert {worker.loop_class for worker in record.workers} == {in_use.class_}
    assert in_use.version is not None
    assert in_use.version[0].isdigit()


def test_os_threads_are_counted() -> None:
    few, many = (measured(cell("threads", workers=n)).process.os_threads for n in (1, 4))
    assert few is not None
    assert many == few + 3


@pytest.mark.parametrize("model", ["processes", "forked", "interpreters"])
def test_os_threads_are_counted_once_per_process(model: str) -> None:
    """A sub-interpreter has none of its own: it would report those of its process."""
    host, *workers = (process.os_threads for process in processes(measured(cell(model)), model))
    assert host is not None
    assert (workers == [None, None]) == (model == "interpreters")
