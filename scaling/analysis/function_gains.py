"""What each function gained between N = 1 and N, in ns per operation, with an interval.

A profile has numbers of samples. The share of a function in a run, times what an operation took in
that run, is its time per operation. A run at N = 1 and one at N make a pair. A function's gain is
the mean of the differences over the pairs, with the interval of Student's t. The standard error is
at least that of counting samples. Means add up: the gains of all functions sum to the gain of all.

Hundreds of functions are tested at once, and one in twenty would be beyond its interval by chance:
a function is named if its gain is significant after the correction of Benjamini and Hochberg. Only
functions that take a certain share of the time at N = 1 and N together are tested: more are found
then, and no outcome is favoured (R. Bourgon, R. Gentleman and W. Huber, PNAS 107 (2010), 9546).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.statistics.estimate import COVERAGE
from scaling.analysis.statistics.hypotheses import corrected
from scaling.journal.beside import FunctionGain, ProfiledRun, ProfilePart, SampleKind

# ----------------------------------------------------------------------------------------- meanings
# What the names of functions mean that profiles of competing threads show.
#
# Each entry has a pattern of names, what it means, and where that can be read: a file of CPython
# 3.14's source, of the kernel's (Linux 6.1), or a page.


class Known(NamedTuple):
    """What a name means; `source` is a file or an address."""

    meaning: str
    source: str


SHARED_COUNT = "reference count of an object that another thread made: an atomic operation"
FREE_LISTS = "memory is only reused once no thread can still read it (QSBR)"
PARKED = "a thread waits for another: a lock, an event, a stopped world"
MAPPING = "memory of the process is mapped or unmapped; all its threads share one lock for that"
FAULT = "a page is used for the first time: the kernel clears and maps it"

# The first pattern that fits counts.
NATIVE: dict[str, Known] = {
    "_PyMutex_LockTimed": Known(
        "a lock that another thread has: spins, then waits", "Python/lock.c"
    ),
    "PyMutex_Lock*": Known("a lock inside CPython is taken", "Python/lock.c"),
    "_PyMutex_LockSlow*": Known("a lock that another thread has", "Python/lock.c"),
    "_PyRWMutex_*": Known("a lock for readers and writers inside CPython", "Python/lock.c"),
    "_PyCriticalSection*": Known(
        "the lock of a dict, list or other object that threads share", "Python/critical_section.c"
    ),
    "_PyParkingLot_*": Known(PARKED, "Python/parking_lot.c"),
    "_PySemaphore_*": Known(PARKED, "Python/parking_lot.c"),
    "_Py_DecRefShared*": Known(SHARED_COUNT, "Objects/object.c"),
    "_Py_MergeZeroLocalRefcount": Known(
        "the last own reference to an object that threads share is dropped", "Objects/object.c"
    ),
    "_Py_brc_*": Known(
        "a thread drops the references of another thread's objects on its behalf", "Python/brc.c"
    ),
    "_PyObject_ThreadIncrefSlow": Known(
        "reference count of a function, class or module, kept per thread: table is enlarged",
        "Python/uniqueid.c",
    ),
    "_Py_qsbr_*": Known(FREE_LISTS, "Python/qsbr.c"),
    "qsbr_*": Known(FREE_LISTS, "Python/qsbr.c"),
    "_PyMem_FreeDelayed*": Known(FREE_LISTS, "Objects/obmalloc.c"),
    "_PyMem_ProcessDelayed*": Known(FREE_LISTS, "Objects/obmalloc.c"),
    "process_queue": Known(FREE_LISTS, "Objects/obmalloc.c"),
    "*stop_the_world*": Known("all other threads are stopped", "Python/pystate.c"),
    "_PyEval_StopTheWorld*": Known("all other threads are stopped", "Python/pystate.c"),
    "start_the_world*": Known("the stopped threads go on", "Python/pystate.c"),
    "gc_collect_*": Known("the cyclic collector", "InternalDocs/garbage_collector.md"),
    "gc_visit_*": Known("the cyclic collector", "InternalDocs/garbage_collector.md"),
    "update_refs": Known("the cyclic collector", "InternalDocs/garbage_collector.md"),
    "take_gil": Known("waits for the GIL", "Python/ceval_gil.c"),
    "drop_gil*": Known("gives the GIL to another thread", "Python/ceval_gil.c"),
    "_Py_Specialize_*": Known(
        "bytecode is adapted to the types seen, for each thread anew", "Python/specialize.c"
    ),
    "_PyCode_GetTLBC*": Known("a thread gets its own copy of bytecode", "Objects/codeobject.c"),
    "_PyEval_EvalFrameDefault": Known(
        "the interpreter's loop: Python code itself, and waiting for memory that it reads",
        "Python/ceval.c",
    ),
    "_PyType_Lookup*": Known("an attribute is looked up in a class", "Objects/typeobject.c"),
    "_mi_prim_*": Known(f"mimalloc: {MAPPING}", "Objects/mimalloc/prim/unix/prim.c"),
    "_mi_os_*": Known(f"mimalloc: {MAPPING}", "Objects/mimalloc/os.c"),
    "*mi_arena_*": Known(
        "mimalloc: a large part of memory is taken or given back", "Objects/mimalloc/arena.c"
    ),
    "*mi_segment_*": Known(
        "mimalloc: a segment of pages is taken or given back", "Objects/mimalloc/segment.c"
    ),
    "*mi_page_*": Known(
        "mimalloc: a page of blocks is searched or reclaimed", "Objects/mimalloc/page.c"
    ),
    "mi_*": Known("mimalloc, the allocator of the free-threaded build", "Objects/mimalloc/alloc.c"),
    "_mi_*": Known(
        "mimalloc, the allocator of the free-threaded build", "Objects/mimalloc/alloc.c"
    ),
    "_int_malloc": Known("glibc's malloc", "https://sourceware.org/glibc/wiki/MallocInternals"),
    "_int_free*": Known("glibc's malloc", "https://sourceware.org/glibc/wiki/MallocInternals"),
}

KERNEL: dict[str, Known] = {
    "native_queued_spin_lock_slowpath": Known(
        "a spin lock of the kernel that another CPU has", "kernel/locking/qspinlock.c"
    ),
    "*queued_spin_lock_slowpath": Known(
        "a spin lock of the kernel that another CPU has", "kernel/locking/qspinlock.c"
    ),
    "osq_lock": Known("waits for a lock of the kernel", "kernel/locking/osq_lock.c"),
    "rwsem_*": Known(f"waits for a lock of the kernel; often {MAPPING}", "kernel/locking/rwsem.c"),
    "down_read*": Known(f"a lock of the kernel; often {MAPPING}", "kernel/locking/rwsem.c"),
    "down_write*": Known(f"a lock of the kernel; often {MAPPING}", "kernel/locking/rwsem.c"),
    "*futex*": Known(PARKED, "https://man7.org/linux/man-pages/man2/futex.2.html"),
    "smp_call_function*": Known(
        "waits for other CPUs to do something, such as to forget unmapped memory", "kernel/smp.c"
    ),
    "*flush_tlb*": Known(
        "CPUs that run other threads of the process forget unmapped memory", "arch/x86/mm/tlb.c"
    ),
    "*unmap*": Known(MAPPING, "mm/mmap.c"),
    "*mmap*": Known(MAPPING, "mm/mmap.c"),
    "*madvise*": Known(MAPPING, "mm/madvise.c"),
    "clear_page*": Known(FAULT, "mm/memory.c"),
    "*page_fault*": Known(FAULT, "mm/memory.c"),
    "do_anonymous_page": Known(FAULT, "mm/memory.c"),
    "*copy_user*": Known("data is copied between a socket or file and memory", "lib/iov_iter.c"),
    "_copy_to_iter": Known("data is copied from a socket or file", "lib/iov_iter.c"),
    "_copy_from_iter": Known("data is copied to a socket or file", "lib/iov_iter.c"),
    "finish_task_switch*": Known("a CPU goes on with another thread", "kernel/sched/core.c"),
    "__schedule": Known("a CPU goes on with another thread", "kernel/sched/core.c"),
    "*ep_poll*": Known("the loop's poll", "fs/eventpoll.c"),
    "*epoll_wait*": Known("the loop's poll", "fs/eventpoll.c"),
}

TABLES: dict[SampleKind, dict[str, Known]] = {"native": NATIVE, "kernel": KERNEL}


def meaning(kind: SampleKind, function: str) -> str | None:
    """What a name means, with where that can be read; None of one that is not known."""
    for pattern, known in TABLES.get(kind, {}).items():
        if fnmatchcase(function, pattern):
            return f"{known.meaning} ({known.source})"
    return None


# ------------------------------------------------------------------------------- gains of functions

FEWEST_PAIRS = 2  # a single difference has no interval
LEAST_SHARE = 0.005  # of a part's time: functions that take less are not tested
MOST_NAMED = 20  # functions of a part; smaller gains are in the rest


@dataclass(frozen=True)
class Part:
    """One table of a profile: which kinds of functions it has, and of what they are shares.

    The functions of a part that does not `add_up` contain each other.
    """

    title: str
    kinds: tuple[SampleKind, ...]
    of: Literal["cpu", "time"]
    adds_up: bool = True


PARTS: tuple[Part, ...] = (
    Part("CPU time by native function and kernel function", ("native", "kernel"), "cpu"),
    Part("CPU time by Python function, without what it calls", ("python",), "cpu"),
    Part(
        "CPU time by Python function, with what it calls in Python",
        ("python_total",),
        "cpu",
        adds_up=False,
    ),
    Part("Time blocked on a lock, by Python stack (innermost first)", ("blocked",), "time"),
)


@dataclass(frozen=True)
class Tally:
    """How much of `of` was in each function, by kind and name, found in so many `samples`."""

    amounts: Mapping[tuple[SampleKind, str], float] = field(default_factory=dict)
    of: float = 0
    samples: int = 0


@dataclass(frozen=True)
class SampledRun:
    """One profiled run: what an operation took, and the samples, by the first kind of each part."""

    run: ProfiledRun
    tallies: Mapping[SampleKind, Tally]

    def base_ns(self, part: Part) -> float:
        """What the shares of a part are shares of."""
        return self.run.cpu_ns_per_op if part.of == "cpu" else self.run.worker_ns_per_op

    def tally(self, part: Part) -> Tally:
        """The samples of a part; empty where its source saw nothing."""
        return self.tallies.get(part.kinds[0], Tally())


def differentials(pairs: Sequence[tuple[SampledRun, SampledRun]]) -> list[ProfilePart]:
    """The parts of a profile of which anything was seen; each pair is a run at 1 and one at N."""
    found = (_differential(part, pairs) for part in PARTS)
    return [each for each in found if each is not None]


def _differential(part: Part, pairs: Sequence[tuple[SampledRun, SampledRun]]) -> ProfilePart | None:
    seen = [pair for pair in pairs if all(run.tally(part).of for run in pair)]
    if len(seen) < FEWEST_PAIRS:
        return None
    names = sorted({name for pair in seen for run in pair for name in run.tally(part).amounts})
    if not names:
        return None

    alone, several = (_Side.of([pair[which] for pair in seen], part, names) for which in (0, 1))
    errors = _errors(alone, several)
    every = [_gain(name, alone, several, [k]) for k, name in enumerate(names)]
    order = sorted(range(len(every)), key=lambda k: -every[k].gained_ns)
    found = _significant(alone, several, errors)
    named = set(sorted(found, key=lambda k: -abs(every[k].gained_ns))[:MOST_NAMED])
    others = [k for k in order if k not in named]

    def together(function: str, which: Sequence[int]) -> FunctionGain | None:
        return _gain((part.kinds[0], function), alone, several, which) if part.adds_up else None

    return ProfilePart(
        title=part.title,
        functions=[every[k] for k in order if k in named],
        others=len(others),
        rest=together("all others", others),
        total=together("together", order),
    )


@dataclass(frozen=True)
class _Side:
    """The runs of all pairs at one N: ns per operation, of shape (pairs, functions).

    `base_ns` is what they are shares of, `samples` how many there were, both of shape (pairs, 1).
    """

    at_ns: Floats
    base_ns: Floats
    samples: Floats

    @classmethod
    def of(
        cls, runs: Sequence[SampledRun], part: Part, names: Sequence[tuple[SampleKind, str]]
    ) -> "_Side":
        tallies = [run.tally(part) for run in runs]
        shares = [[each.amounts.get(name, 0.0) / each.of for name in names] for each in tallies]
        base_ns = np.array([[run.base_ns(part)] for run in runs], dtype=np.float64)
        samples = np.array([[each.samples] for each in tallies], dtype=np.float64)
        return cls(np.array(shares, dtype=np.float64) * base_ns, base_ns, samples)

    def summed(self, which: Sequence[int]) -> "_Side":
        """These functions as one."""
        at_ns = self.at_ns[:, which].sum(axis=1, keepdims=True)
        return _Side(at_ns, self.base_ns, self.samples)

    @property
    def counted(self) -> Floats:
        """The variance that counting alone gives: a share is one of so many samples (binomial)."""
        spread = self.at_ns * (self.base_ns - self.at_ns).clip(min=0)
        return np.asarray((spread / self.samples).mean(axis=0))


def _errors(alone: _Side, several: _Side) -> Floats:
    """The standard error of each mean gain.

    It is what the pairs show, and no less than counting gives: one sample in each of two runs is no
    proof that they agree.
    """
    seen = (several.at_ns - alone.at_ns).var(axis=0, ddof=1)
    variance = np.maximum(seen, alone.counted + several.counted)
    return np.asarray(np.sqrt(variance / len(alone.at_ns)))


def _gain(
    name: tuple[SampleKind, str], alone: _Side, several: _Side, which: Sequence[int]
) -> FunctionGain:
    """The mean gain of some functions together, with its interval."""
    from scipy.special import stdtrit  # scipy.stats takes longer to import

    kind, function = name
    one, many = alone.summed(which), several.summed(which)
    pairs = len(one.at_ns)
    half = float(stdtrit(pairs - 1, (1 + COVERAGE) / 2)) * float(_errors(one, many)[0])
    at_1_ns, at_n_ns = float(one.at_ns.mean()), float(many.at_ns.mean())
    gained_ns = at_n_ns - at_1_ns
    return FunctionGain(
        kind=kind,
        function=function,
        at_1_ns=at_1_ns,
        at_n_ns=at_n_ns,
        gained_ns=gained_ns,
        low=gained_ns - half,
        high=gained_ns + half,
        meaning=meaning(kind, function),
    )


def _significant(alone: _Side, several: _Side, errors: Floats) -> list[int]:
    """Which functions gained or lost time, corrected for how many are tested."""
    from scipy.special import stdtr

    pairs, functions = alone.at_ns.shape
    both = (alone.at_ns + several.at_ns).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        in_errors = np.abs((several.at_ns - alone.at_ns).mean(axis=0)) / errors
    p_values = 2 * stdtr(pairs - 1, -in_errors)
    p_values[both < LEAST_SHARE * both.sum()] = np.nan  # not tested
    adjusted = corrected(p_values.tolist(), ["exploratory"] * functions)
    return [k for k, p_value in enumerate(adjusted) if p_value < 1 - COVERAGE]
