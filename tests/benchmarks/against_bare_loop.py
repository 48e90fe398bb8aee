"""Does the harness cost anything that can be seen? Echo in it, against echo on a bare loop.

Each is compared with its like: a worker that is a thread against a bare loop in a thread, a worker
process against a bare loop in the main thread; each in slices, too, as a group of one. What a
second thread costs a process (the kernel then counts references to a file at every system call) is
a figure of its own, and not ours. All use mimalloc on either build: the two states of glibc's
malloc would drown what is looked for.
"""

import subprocess
import sys
from collections.abc import Iterator
from statistics import median
from typing import NamedTuple

from tests.benchmarks.cells import run
from tests.benchmarks.figure import Effort, Figure
from tests.support.children import environment

TARGET = 0.99
SETTINGS = {"PYTHONMALLOC": "mimalloc"}
IN_SLICES = ", in slices"
LIKE = {
    "threads": "thread",
    "processes": "main",
    f"threads{IN_SLICES}": "thread",
    f"processes{IN_SLICES}": "main",
}


class Rate(NamedTuple):
    """Round trips a second, and CPU ns in each."""

    per_s: float
    cpu_ns: float


def figures(effort: Effort, *, free_threaded: bool) -> Iterator[Figure]:
    """Harness over bare loop, by rounds of fresh processes whose order alternates."""
    del free_threaded
    for loop in ("asyncio", "uvloop"):
        rounds = []
        for number in range(effort.pairs):
            kinds = [*LIKE, *dict.fromkeys(LIKE.values())]
            found = {}
            for kind in kinds if number % 2 else reversed(kinds):
                found[kind] = rate(kind, loop, effort.window_s)
            rounds.append(found)
        for model, place in LIKE.items():
            yield compared(f"echo on {loop}, {model} / bare", rounds, model, place, TARGET)
        yield compared(f"bare {loop}, in a thread / main", rounds, "thread", "main", None)


def compared(
    name: str, rounds: list[dict[str, Rate]], ours: str, bare: str, target: float | None
) -> Figure:
    """The ratio of round trips, round by round; that of CPU time beside it, which shows less of
    what else the machine does."""
    by_cpu = median(found[bare].cpu_ns / found[ours].cpu_ns for found in rounds)
    bare_per_s = median(found[bare].per_s for found in rounds)
    return Figure(
        name,
        [found[ours].per_s / found[bare].per_s for found in rounds],
        "at least",
        target,
        detail=f"by CPU time {by_cpu:.3f}; the latter: {bare_per_s:,.0f} round trips/s",
    )


def rate(kind: str, loop: str, window_s: float) -> Rate:
    """Run echo under a model of the harness, or on a bare loop in its place."""
    if kind in LIKE:
        measured = run(
            "echo",
            window_s,
            settings=SETTINGS,
            loop=loop,
            model=kind.removesuffix(IN_SLICES),
            in_slices=kind.endswith(IN_SLICES),
        )
        return Rate(measured.throughput_per_s, measured.cpu_ns_per_operation)
    printed = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.bare_loop", loop, str(window_s), kind],
        check=True,
        capture_output=True,
        text=True,
        env=environment(**SETTINGS),
    ).stdout
    per_s, cpu_ns = map(float, printed.split())
    return Rate(per_s, cpu_ns)
