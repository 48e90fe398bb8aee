"""The promises of an arm, compared with the reports of every process of a run."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache

from scaling.analysis.rows import Rows
from scaling.analysis.validity.finding import BUILD_FACTS, Finding, Found, alike, python_of
from scaling.base.models import model_of, workers_each, workers_in_words
from scaling.journal.record import (
    ArmRecord,
    Cell,
    ProcessFacts,
    PythonFacts,
    ReadBack,
    RunLine,
    StudyLine,
    WorkerRecord,
)
from scaling.study.plan.order import hash_seed
from scaling.study.plan.refusals import in_flight

NO_LOOP = "none"  # a command without an event loop, or with one that asyncio does not run

# Settings of an arm that each worker carries out, by their names in messages.
IN_WORKER = {"eager tasks": "eager_tasks", "classes and functions of its own": "own_code"}

type Value = bool | int | float | str | None


def gil_flipped(rows: Rows) -> Found:
    """The GIL changed its state after the process had started as its arm asks."""
    for same in alike(rows):
        if detail := _in_process(rows, same[0], _flipped):
            for row in same:
                yield row, Finding("gil-flipped", "invalid", detail)


def settings_lost(rows: Rows) -> Found:
    """A process did not have a setting of its arm, its CPUs, work or loop, or had another one."""
    for same in alike(rows):
        of_all = _otherwise(rows, same[0])
        for row in same:
            run = rows.runs[row]
            wrong = (
                of_all
                or _other_seed(run, rows.processes[row], rows.study)
                or _unpinned(run)
                or _other_share(run, rows.study)
            )
            if wrong:
                yield row, Finding("settings-lost", "invalid", wrong)


def _otherwise(rows: Rows, row: int) -> str | None:
    """The first difference of a run's report from its arm, but for block, CPUs and share."""
    run, arm = rows.runs[row], rows.arm(row)
    if arm is None:
        return f"the arm {run.cell.arm} is not one of the study"
    record, required = run.record, arm.expected
    of_workers = [
        (f"worker {worker.index}: {what}", getattr(worker, name), asked)
        for what, name in IN_WORKER.items()
        if (asked := getattr(required, name)) is not None
        for worker in (record.workers if record else ())
    ]
    facts = record.facts if record else {}
    return (
        _in_process(rows, row, _lost)
        or _other_workers(run)
        or _other_loop(run, required)
        or _difference(of_workers)
        or _difference((name, facts.get(name), asked) for name, asked in required.facts.items())
    )


def other_build(found: ProcessFacts, required: PythonFacts | None) -> str | None:
    """The first difference of a process's interpreter from the arm's, as far as both are known."""
    facts = (
        (what, getattr(found, name), getattr(required, name, None))
        for what, name in BUILD_FACTS.items()
    )
    return _difference(each for each in facts if None not in each)


def _in_process(
    rows: Rows, row: int, fault: Callable[[ProcessFacts, ArmRecord], str | None]
) -> str | None:
    """The first fault of a process of a run; None where its arm is not known."""
    arm = rows.arm(row)
    faults = (fault(process, arm) for process in rows.processes[row] if arm)
    return next((each for each in faults if each), None)


def _flipped(process: ProcessFacts, arm: ArmRecord) -> str | None:
    gil, required = process.gil, arm.expected
    if gil.started is not required.gil_enabled:
        return None  # it never was as the arm requires: settings-lost
    if all(state is required.gil_enabled for state in gil.seen):
        return None
    culprit = f"by importing {gil.enabled_by}" if gil.enabled_by else "by an unknown import"
    return f"the GIL was turned {_word(not required.gil_enabled)} {culprit}"


def _lost(process: ProcessFacts, arm: ArmRecord) -> str | None:
    required, switches = arm.expected, {each.name: each.value for each in process.switches}
    threshold = process.gc_threshold if required.gc_threshold is not None else None
    return (
        other_build(process, python_of(arm))
        or _difference([("GIL", process.gil.started, required.gil_enabled)])
        or _unread_gil(process, required)
        or _difference(
            [
                ("allocator", process.allocator, required.allocator),
                ("garbage collector", process.gc_enabled, required.gc_enabled),
                ("threshold of the collector", threshold, required.gc_threshold),
                ("asyncio debug mode", process.debug, False),
                *((name, switches.get(name), asked) for name, asked in required.switches.items()),
            ]
        )
    )


def _unread_gil(process: ProcessFacts, required: ReadBack) -> str | None:
    """At which moment the GIL was not read: it may have been on then."""
    if required.gil_enabled is None:
        return None
    moments = ("imported", "opened", "closed")
    unread = [moment for moment in moments if getattr(process.gil, moment) is None]
    return f"GIL: not read back at: {', '.join(unread)}" if unread else None


def _other_workers(run: RunLine) -> str | None:
    """Workers that are missing, too many, or not of the cell's model."""
    if run.record is None:
        return None
    workers, cell = run.record.workers, run.cell
    if run.record.outside:
        seen = run.record.outside.workers
        if seen not in (None, cell.workers):
            return f"workers: the command made {seen} event loops, the cell asks for {cell.workers}"
        return None
    if [worker.index for worker in workers] != list(range(cell.workers)):
        return f"workers: {len(workers)} in the record, the cell asks for {cell.workers}"
    asked, each = model_of(cell.model), workers_each(cell.model, cell.workers)
    for worker in workers:
        shares = worker.process is None
        process, thread = divmod(worker.index, each)
        # Workers in threads share one that the first of them reads back, or the host.
        if shares and not (asked.shares and (thread or not asked.starts)):
            have = "the first of each has" if asked.shares else f"{asked.workers} have"
            return f"worker {worker.index} did not report its process, which {have}"
        if not shares and asked.shares and (thread or not asked.starts):
            return f"worker {worker.index} had a process of its own, the cell asks for threads"
        if asked.forks and worker.process and not worker.process.gc_frozen:
            return f"worker {worker.index} was not forked after gc.freeze(), the cell asks for that"
        if worker.thread not in (None, (process, thread)):
            found = "process {}, thread {}".format(*worker.thread)
            return (
                f"worker {worker.index} ran in {found}, and {process}, {thread} is its place: the "
                f"cell asks for {workers_in_words(cell.model, cell.workers)}"
            )
    return None


def _unpinned(run: RunLine) -> str | None:
    if run.placement.pinning is None or run.record is None:
        return None
    pinning = run.placement.pinning
    if run.record.outside:  # a command, as one worker: its processes share the CPUs of all
        pinning = (tuple(sorted({cpu for each in pinning for cpu in each})),)
    found = (_moved(worker, pinning) for worker in run.record.workers)
    return next((wrong for wrong in found if wrong), None)


def _moved(worker: WorkerRecord, pinning: tuple[tuple[int, ...], ...]) -> str | None:
    required = list(pinning[worker.index]) if worker.index < len(pinning) else []
    if worker.cpus is None:
        return f"worker {worker.index} did not report which CPUs it was on"
    if worker.cpus != required:
        return f"worker {worker.index} was on CPUs {worker.cpus}, pinned to {required}"
    return None


def _other_share(run: RunLine, study: StudyLine) -> str | None:
    note = study.workloads.get(run.cell.workload)
    if run.record is None or note is None or note.in_flight is None:
        return None
    total = in_flight(note, run.cell, _most_workers(study, run.cell))
    if not total:
        return None
    each, rest = divmod(total, run.cell.workers)
    for worker in run.record.workers:
        share = each + (worker.index < rest)
        if worker.in_flight not in (None, share):
            return f"worker {worker.index} had {worker.in_flight} in flight, its share is {share}"
    return None


def _most_workers(study: StudyLine, cell: Cell) -> int:
    """The largest number of workers that the study has of the cell's workload; 0: not known."""
    if cell.sizing == "weak":
        return cell.workers
    every = study.study.get("workloads", ())
    entries = (each for each in every if each.get("name") == cell.workload)
    return max((count for each in entries for count in each.get("workers") or ()), default=0)


def _other_seed(run: RunLine, processes: Sequence[ProcessFacts], study: StudyLine) -> str | None:
    """A seed of hashes other than the block's; other runtimes than Python report none."""
    if study.seed is None:
        return None
    asked = str(hash_seed(study.seed, run.block))
    for process in processes:
        if process.hash_seed not in (None, asked):
            return f"hash seed: {process.hash_seed}, the study asks for {asked}"
    return None


def _other_loop(run: RunLine, required: ReadBack) -> str | None:
    """A class of a running loop other than that of the cell's loop.

    What the record calls the loop is no evidence: the child copies that from the cell.
    """
    if run.record is None or run.record.loop is None or run.record.loop.class_ is None:
        return "loop: its class was not read back"
    if run.record.outside and run.record.loop.class_ == NO_LOOP:
        return None
    for found in [run.record.loop.class_, *[each.loop_class for each in run.record.workers]]:
        if found is not None and not _is_loop(found, run.cell.loop, required.loop_class):
            return f"loop: {found}, the cell asks for {required.loop_class or run.cell.loop}"
    return None


@cache
def _is_loop(found: str, loop: str, required: str | None) -> bool:
    """Return True if a class is that of a loop.

    A loop is named after the package that makes it (`anyio/trio` runs on trio), so the class must
    come from that package; a class name alone may change between its versions. Runtimes other than
    Python have one loop each, which is `required`.
    """
    if required is not None:
        return found == required
    return found.startswith(f"{loop.rpartition('/')[2]}.")


def _difference(compared: Iterable[tuple[str, Value, Value]]) -> str | None:
    """The first of these facts, by what it is called, that was not found as the arm asks for."""
    for what, found, asked in compared:
        if found != asked:
            return f"{what}: {_word(found)}, the arm asks for {_word(asked)}"
    return None


def _word(state: Value) -> str:
    if state is None:
        return "not read back"
    if isinstance(state, bool):
        return ("off", "on")[state]
    return f"{state:,}" if isinstance(state, int) else str(state)
