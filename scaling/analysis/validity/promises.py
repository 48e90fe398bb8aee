"""What an arm promises, compared with what every process of a run reports about itself."""

from collections.abc import Callable, Iterator
from operator import attrgetter

from scaling.analysis.validity.finding import Batch, Expectation, Finding, Found, processes
from scaling.base.vocabulary import WORKERS
from scaling.journal.record import ProcessFacts, PythonFacts, ReadBack, RunLine, WorkerRecord

# Facts about its build that a process reports, by what they are called in a message.
BUILD_FACTS = {
    "Python": "version",
    "free-threaded build": "free_threaded",
    "thread_inherit_context": "thread_inherit_context",
    "context_aware_warnings": "context_aware_warnings",
}

# Everything that is compared with the arm: processes that report the same are judged once.
_reported = attrgetter(
    *BUILD_FACTS.values(),
    "gil",
    "allocator",
    "gc_enabled",
    "gc_threshold",
    "switches",
    "debug",
)

type Fault = Callable[[ProcessFacts, Expectation], str | None]


def gil_flipped(batch: Batch) -> Found:
    """The GIL changed its state after the process had started as its arm asks."""
    for row, detail in _by_process(batch, _flipped, attrgetter("gil")):
        yield row, Finding("gil-flipped", "invalid", detail)


def settings_lost(batch: Batch) -> Found:
    """A process did not have a setting of its arm, its CPUs or its loop, or had another one."""
    by_process = dict(_by_process(batch, _lost, _reported))
    for row in batch.rows:
        run = batch.runs[row]
        reads_back = batch.expected[row].reads_back
        if reads_back is None:
            wrong: str | None = f"the arm {run.cell.arm} has a setting unknown to this version"
        else:
            wrong = (
                by_process.get(row)
                or _other_workers(run)
                or _unpinned(run)
                or _other_loop(run, reads_back)
            )
        if wrong:
            yield row, Finding("settings-lost", "invalid", wrong)


def other_build(found: ProcessFacts, required: PythonFacts | None) -> str | None:
    """How the interpreter of a process differs from the arm's; older journals do not name it."""
    for what, name in BUILD_FACTS.items():
        here, there = getattr(found, name), getattr(required, name, None)
        if here is not None and there is not None and (wrong := _differs(what, here, there)):
            return wrong
    return None


def _by_process(
    batch: Batch, fault: Fault, facts: Callable[[ProcessFacts], object]
) -> Iterator[tuple[int, str]]:
    """The first fault among the processes of each run that has one.

    `facts` are those that the fault depends on: processes that share them are judged once.
    """
    known: dict[tuple[str, object], str | None] = {}
    for row in batch.rows:
        expected, run = batch.expected[row], batch.runs[row]
        for process in processes(run):
            reported = (run.cell.arm, facts(process))
            if reported not in known:
                known[reported] = fault(process, expected)
            if wrong := known[reported]:
                yield row, wrong
                break


def _flipped(process: ProcessFacts, expected: Expectation) -> str | None:
    gil, required = process.gil, expected.reads_back
    if required is None or gil.started is not required.gil_enabled:
        return None  # it never was as the arm requires: settings-lost
    if all(state is required.gil_enabled for state in gil.seen):
        return None
    culprit = f"by importing {gil.enabled_by}" if gil.enabled_by else "by an unknown import"
    return f"the GIL was turned {_word(not required.gil_enabled)} {culprit}"


def _lost(process: ProcessFacts, expected: Expectation) -> str | None:
    required = expected.reads_back
    if required is None:
        return None  # reported once for the run: its arm is unknown
    return (
        other_build(process, expected.python)
        or _differs("GIL", process.gil.started, required.gil_enabled)
        or _unread_gil(process, required)
        or _differs("allocator", process.allocator, required.allocator)
        or _differs("garbage collector", process.gc_enabled, required.gc_enabled)
        or _other_threshold(process, required)
        or _differs("asyncio debug mode", process.debug, False)
        or _switched_otherwise(process, required)
    )


def _unread_gil(process: ProcessFacts, required: ReadBack) -> str | None:
    """At which moment the GIL was not read: it may have been on then."""
    if required.gil_enabled is None:
        return None
    moments = ("imported", "opened", "closed")
    unread = [moment for moment in moments if getattr(process.gil, moment) is None]
    return f"GIL: not read back at: {', '.join(unread)}" if unread else None


def _other_threshold(process: ProcessFacts, required: ReadBack) -> str | None:
    """What is wrong with the collector's threshold, where the arm sets it."""
    if required.gc_threshold in (None, process.gc_threshold):
        return None
    found = "not read back" if process.gc_threshold is None else f"{process.gc_threshold:,}"
    return f"threshold of the collector: {found}, the arm asks for {required.gc_threshold:,}"


def _switched_otherwise(process: ProcessFacts, required: ReadBack) -> str | None:
    """What is wrong with the arm's switches."""
    found = {each.name: each.value for each in process.switches}
    wrong = (_differs(name, found.get(name), value) for name, value in required.switches.items())
    return next((each for each in wrong if each), None)


def _other_workers(run: RunLine) -> str | None:
    """Which workers are missing or too many, or are not what the cell's model makes of them."""
    if run.record is None:
        return None
    workers, cell = run.record.workers, run.cell
    if [worker.index for worker in workers] != list(range(cell.workers)):
        return f"workers: {len(workers)} in the record, the cell asks for {cell.workers}"
    for worker in workers:
        shares = worker.process is None
        if shares and cell.model != "threads":
            have = f"{WORKERS.get(cell.model, cell.model)} have"
            return f"worker {worker.index} did not report its process, which {have}"
        if not shares and cell.model == "threads":
            return f"worker {worker.index} had a process of its own, the cell asks for threads"
        if cell.model == "forked" and worker.process and not worker.process.gc_frozen:
            return f"worker {worker.index} was not forked after gc.freeze(), the cell asks for that"
    return None


def _unpinned(run: RunLine) -> str | None:
    """Which pinned worker was on other CPUs."""
    if run.cell.pinning is None or run.record is None:
        return None
    found = (_moved(worker, run.cell.pinning) for worker in run.record.workers)
    return next((wrong for wrong in found if wrong), None)


def _moved(worker: WorkerRecord, pinning: list[list[int]]) -> str | None:
    required = pinning[worker.index] if worker.index < len(pinning) else []
    if worker.cpus is None:
        return f"worker {worker.index} did not report which CPUs it was on"
    if worker.cpus != required:
        return f"worker {worker.index} was on CPUs {worker.cpus}, pinned to {required}"
    return None


def _other_loop(run: RunLine, required: ReadBack) -> str | None:
    """How the class of a running loop differs from what the cell's loop must be.

    A loop is named after the package that makes it (`anyio/trio` runs on trio), so the class must
    come from that package; a class name alone may change between its versions. Runtimes other than
    Python have one loop each. What the record calls the loop is no evidence: the child copies that
    from the cell.
    """
    if run.record is None or run.record.loop is None or run.record.loop.class_ is None:
        return "loop: its class was not read back"
    package = run.cell.loop.rpartition("/")[2]
    workers = (worker.loop_class for worker in run.record.workers)
    for found in dict.fromkeys([run.record.loop.class_, *filter(None, workers)]):
        as_expected = (
            found.startswith(f"{package}.")
            if required.loop_class is None
            else found == required.loop_class
        )
        if not as_expected:
            return f"loop: {found}, the cell asks for {run.cell.loop}"
    return None


def _differs(what: str, found: bool | str | None, required: bool | str | None) -> str | None:
    if found == required:
        return None
    return f"{what}: {_word(found)}, the arm asks for {_word(required)}"


def _word(state: bool | str | None) -> str:
    if state is None:
        return "not read back"
    return state if isinstance(state, str) else ("off", "on")[state]
