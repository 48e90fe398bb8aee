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

from scaling.analysis.table.ticks import throughputs
from tests.benchmarks.alternation import records
from tests.benchmarks.figure import Effort, Figure
from tests.support.children import environment

TARGET = 0.99
SETTINGS = {"PYTHONMALLOC": "mimalloc"}
BARE = ("thread", "main")
LIKE = {  # model and whether in slices, and the bare loop that it is compared with
    ("threads", False): "thread",
    ("processes", False): "main",
    ("threads", True): "thread",
    ("processes", True): "main",
}

type Kind = tuple[str, bool] | str
type Rate = tuple[float, float]  # round trips a second, and CPU ns in each


def figures(effort: Effort) -> Iterator[Figure]:
    """Harness over bare loop, by rounds of fresh processes whose order alternates."""
    kinds: list[Kind] = [*LIKE, *BARE]
    for loop in ("asyncio", "uvloop"):
        rounds: list[dict[Kind, Rate]] = []
        for number in range(effort.pairs):
            order = kinds if number % 2 else kinds[::-1]
            rounds.append({kind: rate(kind, loop, effort.window_s) for kind in order})
        for (model, in_slices), place in LIKE.items():
            name = f"echo on {loop}, {model}{', in slices' * in_slices} / bare"
            yield compared(name, rounds, (model, in_slices), place, TARGET)
        yield compared(f"bare {loop}, in a thread / main", rounds, *BARE, None)


def compared(
    name: str, rounds: list[dict[Kind, Rate]], ours: Kind, bare: Kind, target: float | None
) -> Figure:
    """The ratio of round trips, round by round; that of CPU time beside it, which shows less of
    what else the machine does."""
    by_cpu = median(found[bare][1] / found[ours][1] for found in rounds)
    per_s = median(found[bare][0] for found in rounds)
    ratios = [found[ours][0] / found[bare][0] for found in rounds]
    detail = f"by CPU time {by_cpu:.3f}; the latter: {per_s:,.0f} round trips/s"
    return Figure(name, ratios, target, detail=detail)


def rate(kind: Kind, loop: str, window_s: float) -> Rate:
    """Run echo under a model of the harness, or on a bare loop."""
    if not isinstance(kind, str):
        model, in_slices = kind
        cell = {"workload": "echo", "loop": loop, "model": model, "workers": 1}
        (record,) = records([cell], window_s, in_turns=in_slices, **SETTINGS)
        ticks = record.workers[0].ticks
        assert ticks.cpu_ns, "the system does not report the CPU time of a thread"
        cpu_ns = (ticks.cpu_ns[-1] or 0) - (ticks.cpu_ns[0] or 0)
        done = ticks.operations[-1] - ticks.operations[0]
        return float(throughputs([record])[0]), cpu_ns / done
    command = [sys.executable, "-m", "tests.benchmarks.bare_loop", loop, str(window_s), kind]
    printed = subprocess.check_output(command, text=True, env=environment(**SETTINGS))
    per_s, used_ns = map(float, printed.split())
    return per_s, used_ns
