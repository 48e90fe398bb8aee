"""What an arm promises, held against what every process of a run says of itself."""

from collections.abc import Callable, Iterator
from operator import attrgetter

from scaling.analysis.validity.finding import Batch, Expectation, Finding, Found, processes
from scaling.builds.arms import ReadBack
from scaling.journal.record import ProcessFacts, PythonFacts, RunLine, WorkerRecord

# What a process says of its build, by the words for it: as in the description of the arm.
BUILD_FACTS = {
    "Python": "version",
    "free-threaded build": "free_threaded",
    "thread_inherit_context": "thread_inherit_context",
    "context_aware_warnings": "context_aware_warnings",
}

# All that is held against the arm, so that processes which say the same are looked at once.
_said = attrgetter(*BUILD_FACTS.values(), "gil", "allocator", "gc_enabled", "switches", "debug")

type Fault = Callable[[ProcessFacts, Expectation], str | None]


def gil_flipped(batch: Batch) -> Found:
    """The GIL came on (or went off) after the process had begun as its arm asks."""
    for row, detail in _by_process(batch, _flipped):
        yield row, Finding("gil-flipped", "invalid", detail)


def settings_lost(batch: Batch) -> Found:
    """A setting of the arm was not found in a process, or something else was on instead."""
    by_process = dict(_by_process(batch, _lost))
    for row in batch.rows:
        run = batch.runs[row]
        if batch.expected[row].reads_back is None:
            wrong: str | None = f"what the arm {run.cell.arm} asks for is not known here"
        else:
            wrong = by_process.get(row) or _unpinned(run) or _other_loop(run)
        if wrong:
            yield row, Finding("settings-lost", "invalid", wrong)


def other_build(found: ProcessFacts, asked: PythonFacts | None) -> str | None:
    """What is wrong with the interpreter of a process; a journal of old does not name it."""
    for what, name in BUILD_FACTS.items():
        here, there = getattr(found, name), getattr(asked, name, None)
        if here is not None and there is not None and (wrong := _differs(what, here, there)):
            return wrong
    return None


def _by_process(batch: Batch, fault: Fault) -> Iterator[tuple[int, str]]:
    """The first fault among the processes of each run that has one."""
    known: dict[tuple[object, ...], str | None] = {}
    for row in batch.rows:
        asked, run = batch.expected[row], batch.runs[row]
        for process in processes(run):
            said = (run.cell.arm, _said(process))
            if said not in known:
                known[said] = fault(process, asked)
            if wrong := known[said]:
                yield row, wrong
                break


def _flipped(process: ProcessFacts, expected: Expectation) -> str | None:
    gil, asked = process.gil, expected.reads_back
    if asked is None or gil.started is not asked.gil_enabled:
        return None  # it never was as asked: settings-lost
    if all(state is asked.gil_enabled for state in gil.seen):
        return None
    culprit = f"by importing {gil.enabled_by}" if gil.enabled_by else "by an unknown import"
    return f"the GIL was turned on {culprit}"


def _lost(process: ProcessFacts, expected: Expectation) -> str | None:
    asked = expected.reads_back
    if asked is None:
        return None  # said of the run once: its arm is not known
    return (
        other_build(process, expected.python)
        or _differs("GIL", process.gil.started, asked.gil_enabled)
        or _differs("allocator", process.allocator, asked.allocator)
        or _differs("garbage collector", process.gc_enabled, asked.gc_enabled)
        or _differs("asyncio debug mode", process.debug, False)
        or _switched_otherwise(process, asked)
    )


def _switched_otherwise(process: ProcessFacts, asked: ReadBack) -> str | None:
    """What is wrong with the arm's switches."""
    found = {each.name: each.value for each in process.switches}
    wrong = (_differs(name, found.get(name), value) for name, value in asked.switches.items())
    return next((each for each in wrong if each), None)


def _unpinned(run: RunLine) -> str | None:
    """What is wrong with the CPUs that pinned workers were on."""
    if run.cell.pinning is None or run.record is None:
        return None
    found = (_moved(worker, run.cell.pinning) for worker in run.record.workers)
    return next((wrong for wrong in found if wrong), None)


def _moved(worker: WorkerRecord, pinning: list[list[int]]) -> str | None:
    asked = pinning[worker.index] if worker.index < len(pinning) else []
    if worker.cpus is None:
        return f"worker {worker.index} did not say which CPUs it was on"
    if worker.cpus != asked:
        return f"worker {worker.index} was on CPUs {worker.cpus}, pinned to {asked}"
    return None


def _other_loop(run: RunLine) -> str | None:
    loop = run.record.loop if run.record else None
    return _differs("loop", loop.name, run.cell.loop) if loop is not None else None


def _differs(what: str, found: bool | str | None, asked: bool | str | None) -> str | None:
    if found == asked:
        return None
    return f"{what}: {_word(found)}, the arm asks for {_word(asked)}"


def _word(state: bool | str | None) -> str:
    if state is None:
        return "not read back"
    return state if isinstance(state, str) else ("off", "on")[state]
