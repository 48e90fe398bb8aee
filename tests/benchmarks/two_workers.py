"""Do two threads do twice the work of one, where they should, and not where they should not?"""

from collections.abc import Iterator
from statistics import median
from typing import Literal

from tests.benchmarks.cells import Run, run
from tests.benchmarks.figure import Effort, Figure

type Bound = Literal["at least", "at most"]

# What two workers must gain or may gain at most; None: no target on that build.
TARGETS: list[tuple[str, str, tuple[Bound, float] | None, tuple[Bound, float] | None]] = [
    # workload, loop, free-threaded, with the GIL
    ("echo", "asyncio", ("at least", 1.8), None),
    ("echo", "uvloop", ("at least", 1.9), None),
    ("compute", "asyncio", ("at least", 1.9), ("at most", 1.15)),
    ("shared", "asyncio", ("at most", 1.1), ("at most", 1.1)),
]


def figures(effort: Effort, *, free_threaded: bool) -> Iterator[Figure]:
    """N = 2 over N = 1, in pairs whose order alternates.

    Without a GIL, the CPU time of an operation shows what it would be if both workers had a core
    to themselves all the time: that is how far a busy machine is to blame.
    """
    for workload, loop, free, with_gil in TARGETS:
        target = free if free_threaded else with_gil
        if target is None:
            continue
        pairs = [
            {n: run(workload, effort.window_s, loop=loop, workers=n) for n in order}
            for order in [(1, 2), (2, 1)] * (effort.pairs // 2)
        ]
        by_cpu = f"{_with_whole_cores(pairs):.3f} with two whole cores; " if free_threaded else ""
        one_per_s = median(found[1].throughput_per_s for found in pairs)
        yield Figure(
            f"{workload} on {loop}, N = 2 / N = 1",
            [found[2].throughput_per_s / found[1].throughput_per_s for found in pairs],
            *target,
            detail=f"{by_cpu}N = 1: {one_per_s:,.0f} a second",
        )


def _with_whole_cores(pairs: list[dict[int, Run]]) -> float:
    return median(
        2 * found[1].cpu_ns_per_operation / found[2].cpu_ns_per_operation for found in pairs
    )
