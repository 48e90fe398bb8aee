"""A run as the journal keeps it: its cell, how it ended, what child and probe saw."""

from typing import Literal

import msgspec

from scaling.journal.record.cell import Cell
from scaling.journal.record.of_child import Record
from scaling.journal.record.of_load import Load

type Outcome = Literal["measured", "failed", "crashed", "timed-out", "garbled"]


class Memory(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The child's tree from outside: before traffic, at the window's end, its peak.

    RSS, PSS and USS are read together at the end, while all workers still work. `pss_bytes`
    counts what processes of the tree share once, whatever processes outside the tree share it.
    `idle_pss_bytes` is that of servers that answer, before any load is sent to them.
    `window_rss_bytes` is the median of `samples` in the window; in journals of 1.0 `rss_bytes` is
    that median.
    """

    baseline_rss_bytes: int | None = None
    rss_bytes: int | None = None
    pss_bytes: int | None = None
    idle_pss_bytes: int | None = None
    uss_bytes: int | None = None
    peak_bytes: int | None = None
    window_rss_bytes: int | None = None
    samples: int | None = None


class Disturbance(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What else the machine did during a run. Fractions are of all CPUs' time.

    `clock_step_s` is how far wall clock and monotonic clock moved apart meanwhile.
    """

    load_1m: float | None = None
    steal_fraction: float | None = None
    throttled_s: float | None = None
    other_cpu_fraction: float | None = None
    clock_step_s: float | None = None


class ServiceUse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a service of the workload used during a run.

    `busy_fraction` is the share of one core that its busiest process used. `window_cpu_s` is the
    part of `cpu_s` in the window of a served workload. At its end, `memory_bytes` counts what its
    processes share once, and `connections` are those of its clients. Where it ended before the run
    did, `ended` says how. `facts` are version and settings; of an `installed` server, which belongs
    to the user, there are no figures.
    """

    rss_bytes: int | None = None
    cpu_s: float | None = None
    busy_fraction: float | None = None
    window_cpu_s: float | None = None
    memory_bytes: int | None = None
    connections: int | None = None
    ended: str = ""
    facts: dict[str, str] = {}


class Waits(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What the thread of each worker's loop was found doing, sampled from outside in its window.

    `calls` has the samples of each worker, in their order: how many by the name of the call that it
    waited in, `running` where it waited in none. They were read from `source`, a file in
    /proc/PID/task/TID, at `rate_per_s` for each worker. The sampler worked for `took_s`, a little
    longer than the window, and used `cost_s` of CPU time.
    """

    source: Literal["syscall", "wchan"]
    rate_per_s: float
    took_s: float = 0.0
    cost_s: float = 0.0
    calls: list[dict[str, int]] = []


class RunLine(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="run"):
    """One run: which cell, when, how it ended, what child, probe and load generator saw.

    `waits` is None where the system does not permit it, for commands that are measured from
    outside, and for other runtimes than CPython. Runs of a block with the same `group` were alive
    together and took turns; None: it was `alone`, for this reason, if that is known.
    `out_of_turn_cpu_s` are CPU seconds that such a run, its load generator and its services used
    while others had their turn, once it was ready: about 0 where it is stopped. In the group's
    `disturbance` they are other load.
    """

    cell: Cell
    outcome: Outcome
    block: int
    position: int
    attempt: int = 1
    group: int | None = None
    alone: str | None = None
    at: str | None = None
    elapsed_s: float | None = None
    record: Record | None = None
    stderr: str = ""
    exit_code: int | None = None
    signal: int | None = None
    memory: Memory = Memory()
    disturbance: Disturbance = Disturbance()
    services: dict[str, ServiceUse] = {}
    load: Load | None = None
    waits: Waits | None = None
    out_of_turn_cpu_s: float | None = None
