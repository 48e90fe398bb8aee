"""Whether a run may be believed: a table of small checks, each with its word and its limit.

A check sees the run, what its arm promised and the figures from its ticks, and answers with a
finding or None. Invalid runs are kept and listed with their reasons, and never enter an average;
suspect ones are used and marked. Limits are derived from one margin: two arms that differ by less
than 2 % are called the same, so nothing known to move a figure by more may pass unsaid.

`mixed-allocator-state` shows only between runs of one cell; `scaling.frame.mixing` finds it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from scaling.arms import ReadBack, parse_arm
from scaling.errors import UsageError
from scaling.journal.record import (
    Arm,
    Machine,
    ProcessFacts,
    PythonFacts,
    RunLine,
    WorkerRecord,
)

type Validity = Literal["valid", "suspect", "invalid"]

# The smallest difference that a verdict takes for one (DESIGN.md, issue on verdicts).
MARGIN = 0.02

# A worker alone for a share x of its time gains at most that share.
LEAST_OVERLAP = 1 - MARGIN

# Of the window: start-up may have had its part of what was held back.
MOST_THROTTLED = MARGIN / 2

# CPU time that never was there cannot be worked in.
MOST_STEAL = MARGIN

# Of the workers' cores: below, the scheduler's own tidying-up looks the same.
MOST_CROWDING = 0.10

# Of a core, for each process of a service: beyond, the workers wait for it, and their curve is its
# own (PITFALLS.md, 9). A queue at 0.7 makes a request take 1 / (1 - 0.7) times as long.
MOST_SERVICE_BUSY = 0.70

# Of the operations: errors are quicker or slower than the work they replace.
MOST_ERRORS = MARGIN / 2

# uvloop's timers count whole ms and may fire up to 1 early; what is more than that is a step.
MOST_EARLY_S = 0.005

# Between wall and monotonic clock: what reading both cannot explain,
MOST_STEP_S = 0.005
# and s/s that NTP may speed a clock up by, where only one of the two is slewed.
MOST_SLEW = 500e-6

# The last quarter weighs a fourth: this moves the mean by 1.25 %, inside the margin.
DRIFT = 0.05
# Standard errors: chance alone passes it in 0.3 % of runs.
DRIFT_ERRORS = 3.0

# What a process says of its build, by the words for it: as in the description of the arm.
BUILD_FACTS = {
    "Python": "version",
    "free-threaded build": "free_threaded",
    "thread_inherit_context": "thread_inherit_context",
    "context_aware_warnings": "context_aware_warnings",
}


class Figures(NamedTuple):
    """What the checks need of a run's ticks (`scaling.frame.ticks`); NaN where there is nothing."""

    throughput_per_s: float
    operations: float
    errors: float
    window_s: float
    idle_workers: float
    overlap: float
    early_max_s: float
    in_order: float
    drift: float
    drift_error: float


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a run is held against: what its arm promises of every process, and the machine.

    `reads_back` is None where the arm is not known, and then no run of it can be believed.
    `logical_cpus` is None where others' use of the CPUs cannot be judged (`watched_cpus`);
    `python` is how the arm's environment described its interpreter, if it is known.
    """

    reads_back: ReadBack | None = None
    logical_cpus: int | None = None
    python: PythonFacts | None = None


class Finding(NamedTuple):
    """One reason against a run: a word for machines, a sentence for people."""

    word: str
    severity: Literal["suspect", "invalid"]
    detail: str


type Check = Callable[[RunLine, Expectation, Figures], Finding | None]


def expectation(arm: Arm, logical_cpus: int | None = None) -> Expectation:
    """What the runs of an arm are held against; `scaling.arms` knows what its settings promise."""
    try:
        reads_back = parse_arm("+".join([arm.build, *arm.settings])).expected
    except UsageError:  # a setting of a later version
        reads_back = None
    python = arm.description.python if arm.description else None
    return Expectation(reads_back, logical_cpus, python)


def watched_cpus(machine: Machine) -> int | None:
    """The machine's CPUs, if the study may use them all; else None.

    Others' CPU time is known of the machine as a whole. Where an affinity mask or a quota leaves us
    fewer CPUs than there are, it cannot be told whether they were at work on ours.
    """
    whole = machine.usable_cpus is None or machine.usable_cpus == machine.logical_cpus
    return machine.logical_cpus if whole else None


def judge(run: RunLine, expected: Expectation, figures: Figures) -> list[Finding]:
    """Every reason against a run, the gravest kind first; none for a run without fault.

    A run that was not measured has one reason, its outcome: there is nothing else to look at.
    """
    if run.outcome != "measured" or run.record is None or run.record.outcome != "measured":
        return [_unmeasured(run)]
    if figures.throughput_per_s != figures.throughput_per_s:
        return [Finding("garbled", "invalid", "its ticks are missing or do not fit together")]
    found = [finding for check in CHECKS if (finding := check(run, expected, figures))]
    return sorted(found, key=lambda finding: finding.severity)  # invalid sorts before suspect


def validity(findings: list[Finding]) -> Validity:
    """The gravest of the findings."""
    return findings[0].severity if findings else "valid"


def _unmeasured(run: RunLine) -> Finding:
    word = run.outcome if run.outcome != "measured" else "failed"
    failure = run.record.failure if run.record else None
    if failure is not None:
        return Finding(word, "invalid", f"{failure.phase}: {failure.error}")
    ended = f"signal {run.signal}" if run.signal else f"exit code {run.exit_code}"
    last = run.stderr.strip().splitlines()[-1:] or ["nothing on standard error"]
    return Finding(word, "invalid", f"{ended}; {last[0]}")


def processes(run: RunLine) -> Iterator[ProcessFacts]:
    """What each process (or sub-interpreter) of a measured run says of itself."""
    if run.record is not None:
        yield run.record.process
        yield from (worker.process for worker in run.record.workers if worker.process is not None)


def gil_flipped(run: RunLine, expected: Expectation, _: Figures) -> Finding | None:
    """The GIL came on (or went off) after the process had begun as its arm asks."""
    asked = expected.reads_back
    for process in processes(run):
        gil = process.gil
        if asked is None or gil.started is not asked.gil_enabled:
            continue  # it never was as asked: settings-lost
        if any(state is not asked.gil_enabled for state in gil.seen):
            culprit = f"by importing {gil.enabled_by}" if gil.enabled_by else "by an unknown import"
            return Finding("gil-flipped", "invalid", f"the GIL was turned on {culprit}")
    return None


def settings_lost(run: RunLine, expected: Expectation, _: Figures) -> Finding | None:
    """A setting of the arm was not found in a process, or something else was on instead."""
    asked = expected.reads_back
    if asked is None:
        detail = f"what the arm {run.cell.arm} asks for is not known here"
        return Finding("settings-lost", "invalid", detail)
    for process in processes(run):
        wrong = (
            other_build(process, expected.python)
            or _differs("GIL", process.gil.started, asked.gil_enabled)
            or _differs("allocator", process.allocator, asked.allocator)
            or _differs("garbage collector", process.gc_enabled, asked.gc_enabled)
            or _differs("asyncio debug mode", process.debug, False)
        )
        if wrong:
            return Finding("settings-lost", "invalid", wrong)
    for worker in run.record.workers if run.record else ():
        if run.cell.pinning is not None and (wrong := _moved(worker, run.cell.pinning)):
            return Finding("settings-lost", "invalid", wrong)
    loop = run.record.loop if run.record else None
    if loop is not None and (wrong := _differs("loop", loop.name, run.cell.loop)):
        return Finding("settings-lost", "invalid", wrong)
    return None


def other_build(found: ProcessFacts, asked: PythonFacts | None) -> str | None:
    """What is wrong with the interpreter of a process; a journal of old does not name it."""
    for what, name in BUILD_FACTS.items():
        here, there = getattr(found, name), getattr(asked, name, None)
        if here is not None and there is not None and (wrong := _differs(what, here, there)):
            return wrong
    return None


def _moved(worker: WorkerRecord, pinning: list[list[int]]) -> str | None:
    """What is wrong with the CPUs that a pinned worker was on."""
    asked = pinning[worker.index] if worker.index < len(pinning) else []
    if worker.cpus is None:
        return f"worker {worker.index} did not say which CPUs it was on"
    if worker.cpus != asked:
        return f"worker {worker.index} was on CPUs {worker.cpus}, pinned to {asked}"
    return None


def _differs(what: str, found: bool | str | None, asked: bool | str) -> str | None:
    if found == asked:
        return None
    return f"{what}: {_word(found)}, the arm asks for {_word(asked)}"


def _word(state: bool | str | None) -> str:
    if state is None:
        return "not read back"
    return state if isinstance(state, str) else ("off", "on")[state]


def not_all_busy(_: RunLine, __: Expectation, figures: Figures) -> Finding | None:
    """Some of the counted time was not worked by all, or a worker finished no operation in it."""
    if figures.idle_workers:
        detail = f"{figures.idle_workers:.0f} worker(s) finished no operation in the window"
        return Finding("not-all-busy", "invalid", detail)
    if not figures.overlap >= LEAST_OVERLAP:
        detail = f"all workers were busy for {figures.overlap:.1%} of the counted time only"
        return Finding("not-all-busy", "invalid", detail)
    return None


def clock_stepped(run: RunLine, _: Expectation, figures: Figures) -> Finding | None:
    """A clock stood still, went back, or ran ahead of the schedule, or two of them parted."""
    if not figures.in_order:
        return Finding("clock-stepped", "invalid", "a tick is not later than the one before it")
    if figures.early_max_s > MOST_EARLY_S:
        detail = f"a tick ran {figures.early_max_s * 1000:.0f} ms before its instant"
        return Finding("clock-stepped", "invalid", detail)
    step_s = run.disturbance.clock_step_s or 0.0
    if abs(step_s) > MOST_STEP_S + MOST_SLEW * (run.elapsed_s or 0.0):
        detail = f"the wall clock went {step_s * 1000:+.0f} ms against the monotonic one"
        return Finding("clock-stepped", "invalid", f"{detail} (set, or the machine slept)")
    return None


def throttled(run: RunLine, _: Expectation, figures: Figures) -> Finding | None:
    """A cgroup quota held the run back."""
    held_s = run.disturbance.throttled_s or 0.0
    if held_s > MOST_THROTTLED * figures.window_s:
        return Finding("throttled", "invalid", f"a CPU quota held it back for {held_s:.2f} s")
    return None


def worker_errors(run: RunLine, _: Expectation, figures: Figures) -> Finding | None:
    """Operations went wrong inside the window."""
    if not figures.errors:
        return None
    share = figures.errors / (figures.errors + figures.operations)
    workers = run.record.workers if run.record else []
    samples = (text for worker in workers for text in worker.error_samples)
    told = next(samples, "no sample kept")
    detail = f"{figures.errors:.0f} operations went wrong ({share:.2%}): {told}"
    return Finding("worker-errors", "invalid" if share > MOST_ERRORS else "suspect", detail)


def machine_busy(run: RunLine, expected: Expectation, _: Figures) -> Finding | None:
    """Others took CPU time that the workers could have used.

    What others took is blank where we may not use every CPU (`watched_cpus`); steal never is.
    """
    steal = run.disturbance.steal_fraction or 0.0
    if steal > MOST_STEAL:
        return Finding("machine-busy", "suspect", f"the hypervisor took {steal:.1%} of the CPUs")
    other, cpus = run.disturbance.other_cpu_fraction, expected.logical_cpus
    if other is None or cpus is None:
        return None
    needed = min(run.cell.workers, cpus)
    crowding = other * cpus - (cpus - needed)  # what did not fit on the CPUs left over
    if crowding > MOST_CROWDING * needed:
        detail = f"other processes took {other * cpus:.1f} of {cpus} CPUs"
        return Finding("machine-busy", "suspect", detail)
    return None


def service_busy(run: RunLine, _: Expectation, __: Figures) -> Finding | None:
    """A helper of the workload was at work for so long that the workers had to wait for it."""
    for name, use in run.services.items():
        if use.busy_fraction is not None and use.busy_fraction > MOST_SERVICE_BUSY:
            detail = f"the {name} was busy for {use.busy_fraction:.0%} of a core in each process"
            return Finding("service-busy", "suspect", detail)
    return None


def not_steady(_: RunLine, __: Expectation, figures: Figures) -> Finding | None:
    """The last quarter of the window is not level with what came before it."""
    if abs(figures.drift) > max(DRIFT, DRIFT_ERRORS * figures.drift_error):
        detail = f"the last quarter of the window ran {figures.drift:+.1%} against the rest"
        return Finding("not-steady", "suspect", detail)
    return None


CHECKS: tuple[Check, ...] = (
    gil_flipped,
    settings_lost,
    not_all_busy,
    clock_stepped,
    throttled,
    worker_errors,
    machine_busy,
    service_busy,
    not_steady,
)
