"""The terms that the workers' time per operation is made of.

    τ = N·T / n = user + system + collector + run queue + blocked + idle + imbalance + rest

Each is a column of the frame, `user_s_per_op` (`scaling.analysis.table.time_terms`).
"""

from typing import NamedTuple


class Term(NamedTuple):
    """One term: its name in columns and JSON, its words in tables, and what a loss of it can be."""

    name: str
    words: str
    cause: str

    @property
    def column(self) -> str:
        """Its column in the frame, in s per operation."""
        return f"{self.name}_s_per_op"


USER = Term(
    "user",
    "user CPU",
    "more work per operation, or slower work: contended reference counts and caches, or a core "
    "that is slower while its neighbours work",
)
SYSTEM = Term(
    "system", "system CPU", "the kernel: page faults, sockets, or threads that spin on a lock"
)
COLLECTOR = Term("collector", "collector", "more garbage to collect, or more objects to visit")
RUN_QUEUE = Term(
    "run_queue",
    "run queue",
    "more threads are ready to run than there are CPUs; those of other programs count, too",
)
BLOCKED = Term(
    "blocked",
    "blocked",
    "a lock, a stop of all threads for a collection, the allocator (all futex); or a call that "
    "sleeps or reads a file",
)
IDLE = Term("idle", "idle", "too little work in flight for the loop, or a service that is slow")
IMBALANCE = Term("imbalance", "imbalance", "some workers had less work than others")
REST = Term("rest", "rest", "CPU time taken by the host, interrupts, or page faults that wait")

TERMS = (USER, SYSTEM, COLLECTOR, RUN_QUEUE, BLOCKED, IDLE, IMBALANCE, REST)
# Where calls could not be sampled, these three are not separable: `idle` is their sum.
NOT_SEPARATE = (BLOCKED, REST)
OTHER_THREADS = Term("other_threads", "other threads", "a thread pool; no part of the sum")
WHOLE = Term("worker", "all", "")
COLUMNS = tuple(term.column for term in (*TERMS, OTHER_THREADS))
