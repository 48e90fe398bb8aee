"""The time of all workers per operation, in eight terms that add up to it.

For a worker over its own window, T = c + r + b + e + x: on CPU, in the run queue, blocked, idle in
the loop's poll, the rest. T, c and r are measured, so
the time off the CPU, T - c - r, is known exactly. Samples of the call that the thread waits in
divide it: at most what the samples allow is waiting (Wilson's upper bound), and what is left is the
term `rest`. A worker without a sample of waiting counts as not waiting, unless that may be chance:
where each of many workers has few samples, some have none although they wait as much as the others.

Only the split of CPU time into user and system is not exact: kernels sample it at their ticks. With
250 of them in a window of a second, a share has a standard error of up to 3 %.
"""

from operator import attrgetter
from typing import NamedTuple

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.column import OBJECT, Column
from scaling.analysis.rows import Rows
from scaling.analysis.stacks import NS_PER_S, Stack
from scaling.analysis.table.processes import process_cpu_s
from scaling.journal.record import RunLine, ThreadUse

# System calls in which Python's loops wait on Linux. `poll` and `select` are calls of the program.
POLLS = frozenset({"epoll_wait", "epoll_pwait", "epoll_pwait2", "io_uring_enter"})
NO_WAITS = frozenset({"running", "page fault"})

Z_95 = 1.96  # of a two-sided 95 % interval
BY_CHANCE = 0.05  # that any worker of a run has no sample that waits


class Term(NamedTuple):
    """One term: its name in columns and JSON, what a loss of it can be, the definition of its
    column, and its heading where that is not the name.
    """

    name: str
    cause: str
    definition: str
    heading: str = ""

    @property
    def words(self) -> str:
        """Its heading in tables."""
        return self.heading or self.name.replace("_", " ")

    @property
    def column(self) -> str:
        """Its column of the runs, in s per operation."""
        return f"{self.name}_s_per_op"


USER = Term(
    "user",
    "more work per operation, or slower work: contended reference counts and caches, or a core "
    "that is slower while its neighbours work",
    "user CPU time of the loops' threads, without the collector, per operation. User and "
    "system are divided as the kernel does, which samples at its ticks (getrusage)",
    "user CPU",
)
SYSTEM = Term(
    "system",
    "the kernel: page faults, sockets, or threads that spin on a lock",
    "system CPU time of the loops' threads, without the collector, per operation",
    "system CPU",
)
COLLECTOR = Term(
    "collector",
    "more garbage to collect, or more objects to visit",
    "CPU time of the loops' threads inside collections, per operation",
)
RUN_QUEUE = Term(
    "run_queue",
    "more threads are ready to run than there are CPUs; those of other programs count, too",
    "waiting for a CPU, per operation (schedstat, second field)",
)
BLOCKED = Term(
    "blocked",
    "a lock, a stop of all threads for a collection, the allocator (all futex); or a call that "
    "sleeps or reads a file",
    "waiting in any call but the loop's poll, per operation: futex, sleep, file, socket "
    "(sampled from outside)",
)
IDLE = Term(
    "idle",
    "too little work in flight for the loop, or a service that is slow",
    "waiting in the loop's poll, N times the least idle worker's, per operation (sampled "
    "from outside; where that is not permitted, blocked and rest are blank, and this is all three)",
)
IMBALANCE = Term(
    "imbalance",
    "some workers had less work than others",
    "what other workers wait longer than that, per operation; finite: also from a "
    "worker's finish to the last one's",
)
REST = Term(
    "rest",
    "CPU time taken by the host, interrupts, or page faults that wait",
    "everything else per operation: steal, interrupts, page faults that sleep; small and "
    "below 0 where the clocks differ",
)
OTHER_THREADS = Term(
    "other_threads",
    "a thread pool; no part of the sum",
    "CPU time of threads that run no loop (a thread pool), per operation; no part of the sum",
)
WHOLE = Term(
    "worker",
    "",
    "time of all workers per operation, N · T / n; the eight that follow add up to it. "
    "Only of CPython on Linux, as they are",
    "all",
)

TERMS = (USER, SYSTEM, COLLECTOR, RUN_QUEUE, BLOCKED, IDLE, IMBALANCE, REST)
# Idle has these in it if calls could not be sampled.
NOT_SEPARATE = (BLOCKED, REST)
COLUMNS_OF = (WHOLE, *TERMS, OTHER_THREADS)


def wilson_upper(share: Floats, samples: Floats) -> Floats:
    """The upper end of the 95 % interval of a share of so many samples.

    E. B. Wilson, Probable inference, J. Am. Stat. Assoc. 22 (1927). NaN without samples.
    """
    per_sample = Z_95**2 / samples
    middle = share + per_sample / 2
    half = np.sqrt(per_sample * (share * (1 - share) + per_sample / 4))
    return np.asarray((middle + half) / (1 + per_sample))


def _terms(rows: Rows) -> dict[str, Floats]:
    """All columns that follow but `waits`, in s per operation."""
    found = {term.name: np.full(len(rows.runs), np.nan) for term in COLUMNS_OF}
    for stack in rows.stacks if rows.any_worker_has("use") else ():
        if stack.outside or stack.cpu is None:
            continue
        runs = [rows.runs[row] for row in stack.rows.tolist()]
        with np.errstate(divide="ignore", invalid="ignore"):
            for name, values in _of_stack(stack, runs).items():
                found[name][stack.rows] = values
    return found


def _of_stack(stack: Stack, runs: list[RunLine]) -> dict[str, Floats]:
    """The columns of some runs of one shape; each array has a value for each run."""
    read_user_s, read_system_s, run_queue_s, read_collector_s = _uses_s(runs)
    cpu_s = stack.cpu_s
    after_s = np.maximum(stack.counted_s - stack.own_s, 0)  # finite work: until all are done
    off_s = stack.counted_s - after_s - cpu_s - run_queue_s
    collector_s = np.minimum(read_collector_s, cpu_s)
    both_s = read_user_s + read_system_s
    user_s = cpu_s * np.where(both_s > 0, read_user_s / both_s, 1.0)
    user_s = np.maximum(user_s - collector_s, 0)

    blocked, idle, samples = _samples(runs)
    most, blocked_part = _waiting(blocked, idle, samples)
    waiting_s = np.maximum(np.minimum(off_s, stack.window_s * most), 0)
    blocked_s = waiting_s * blocked_part
    sampled = (samples > 0).all(axis=1)
    idle_s = np.where(sampled[:, None], waiting_s - blocked_s, off_s)
    least_idle_s = idle_s.min(axis=1) * idle_s.shape[1]

    total = stack.counted_s.sum(axis=1)
    terms = {
        "user": user_s.sum(axis=1),
        "system": (cpu_s - collector_s - user_s).sum(axis=1),
        "collector": collector_s.sum(axis=1),
        "run_queue": run_queue_s.sum(axis=1),
        "blocked": np.where(sampled, blocked_s.sum(axis=1), np.nan),
        "idle": least_idle_s,
        "imbalance": idle_s.sum(axis=1) - least_idle_s + after_s.sum(axis=1),
    }
    rest = total - np.sum(list(terms.values()), axis=0)  # NaN where calls were not sampled
    all_terms = {**terms, "rest": rest, "worker": total}
    operations = stack.done.sum(axis=1)
    operations[(operations <= 0) | np.isnan(terms["user"] + terms["run_queue"])] = np.nan
    process_s = np.array([process_cpu_s(run, finite=stack.finite) for run in runs])
    all_terms["other_threads"] = np.maximum(process_s - cpu_s.sum(axis=1), 0)
    return {name: values / operations for name, values in all_terms.items()}


def _waiting(blocked: Floats, idle: Floats, samples: Floats) -> tuple[Floats, Floats]:
    """The largest part of each worker's window that it can have waited, and the part of that
    it was blocked.
    """
    waiting = blocked + idle
    together, all_blocked, all_samples = (
        each.sum(axis=1, keepdims=True) for each in (waiting, blocked, samples)
    )
    chance = (1 - together / all_samples) ** samples
    unseen = (waiting == 0) & (together > 0) & (chance > BY_CHANCE / waiting.shape[1])
    most = wilson_upper(waiting / samples, samples)
    parts = np.where(unseen, all_blocked / together, blocked / waiting)
    waits = unseen | (waiting > 0)
    return np.where(waits, most, 0.0), np.where(waits, parts, 0.0)


def _uses_s(runs: list[RunLine]) -> Floats:
    """User, system, run-queue and collector time of each worker, s; NaN where it is not known.

    Shape: (4, runs, workers).
    """
    read = attrgetter("user_ns", "system_ns", "run_queue_ns", "collector_ns")
    used = [
        [read(worker.use or ThreadUse()) for worker in run.record.workers]
        for run in runs
        if run.record is not None
    ]
    return np.asarray(np.array(used, np.float64).transpose(2, 0, 1) / NS_PER_S)


def _samples(runs: list[RunLine]) -> Floats:
    """The numbers of samples of each worker: blocked, idle, and all.

    Shape: (3, runs, workers).
    """
    return np.array(list(map(_by_worker, runs)), np.float64).transpose(2, 0, 1)


def _by_worker(run: RunLine) -> list[tuple[int, int, int]]:
    count = len(run.record.workers) if run.record is not None else 0
    if run.waits is None or len(run.waits.calls) != count:
        return [(0, 0, 0)] * count
    return [_counts(calls) for calls in run.waits.calls]


def _counts(calls: dict[str, int]) -> tuple[int, int, int]:
    idle = sum([count for name, count in calls.items() if name in POLLS])
    neither = sum([count for name, count in calls.items() if name in NO_WAITS])
    taken = sum(calls.values())
    return taken - idle - neither, idle, taken


def _shares(rows: Rows) -> list[dict[str, float]]:
    none: dict[str, float] = {}
    return [_in_parts(run.waits.calls) if run.waits is not None else none for run in rows.runs]


def _in_parts(calls: list[dict[str, int]]) -> dict[str, float]:
    together: dict[str, int] = {}
    for each in calls:
        for name, count in each.items():
            together[name] = together.get(name, 0) + count
    total = sum(together.values())
    return {name: count / total for name, count in together.items()}


def _column(term: Term) -> Column:
    return Column(
        read=lambda rows: rows["time_terms"][term.name], definition=term.definition, better="less"
    )


TIME_TERMS = {
    "time_terms": Column(
        read=_terms, dtype=OBJECT, definition="the ten that follow", in_frame=False
    ),
    **{term.column: _column(term) for term in COLUMNS_OF},
    "waits": Column(
        read=_shares,
        dtype=OBJECT,
        definition="what the loops' threads were found in, a dict: share of the samples by the "
        "name of the call, and running",
    ),
}
