"""What the load generator of a served workload measured in one run, from outside."""

import msgspec

from scaling.journal.record.of_child import Latency


class Overload(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A part of the window with `factor` times the rate, `after_s` from its start."""

    factor: float
    after_s: float
    lasts_s: float


class SubWindow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Answers to the requests due in one part of the window; None where there were none.

    `received` are the good answers that came in it, whenever they were due (None: not known). In a
    run with an overload also how many were due, and the latency of those with a good answer.
    """

    answered: int = 0
    received: int | None = None
    p50_ns: int | None = None
    max_ns: int | None = None
    offered: int | None = None
    latency: Latency | None = None


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """The load of one run and what its clients saw.

    `rate_per_s` is what was asked for, of all workers together; None is a closed loop. Latency
    counts from the due time, `service` from the send, `slip` is how late the generator itself was.
    `unfinished` are requests without an answer at the end, with their latency so far; `latency` has
    only answered ones. Of background requests, answered or not, the latency is in `background` and
    nowhere else; they count in all else. `busy_fraction` is the share of a core of the busiest
    generator process, `cpu_s` what all its processes used in the window. `cpus` are those that it
    had to itself and `worker_cpus` those of the workers' processes, both as read back (None: they
    shared all CPUs). `slice_ns` is the scheduling slice that it was granted, as read back.
    `windows` are equal parts of the window, in order; `overload` is a part with a higher rate.
    `declined` are requests that the server said it could not answer in time, by status: they are no
    errors, and in no latency. `elsewhere`: the generator was on another host, and its part of the
    window began later by the time that a message took to it.
    """

    rate_per_s: float | None = None
    overload: Overload | None = None
    arrivals: str = "poisson"
    keep_alive: bool = True
    connections: int = 0
    seed: int = 0
    processes: int = 1
    cpus: list[int] | None = None
    worker_cpus: list[int] | None = None
    python: str | None = None
    gil: bool | None = None
    loop: str | None = None
    timer: str | None = None
    slice_ns: int | None = None
    offered: int = 0
    completed: int = 0
    achieved_per_s: float = 0.0
    errors: dict[str, int] = {}
    declined: dict[str, int] = {}
    busy_fraction: float | None = None
    cpu_s: float | None = None
    latency: Latency = Latency()
    unfinished: Latency = Latency()
    service: Latency = Latency()
    background: Latency = Latency()
    slip: Latency = Latency()
    windows: list[SubWindow] = []
    elsewhere: bool = False
