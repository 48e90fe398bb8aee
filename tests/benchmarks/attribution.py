"""What does it cost to sample what the loops' threads wait in?"""

from collections.abc import Iterator
from statistics import median

from scaling.run.waits import RATE_PER_S
from tests.benchmarks.figure import Effort, Figure
from tests.benchmarks.runs import Run, run

TARGET = 0.995  # of the throughput without
PAIRS = 4  # for each that other benchmarks make: half a per cent is little


def figures(effort: Effort) -> Iterator[Figure]:
    """`echo` on uvloop at N = 2, where each core has a loop of its own: with over without.

    The order alternates. Where other programs run meanwhile, the first figure says little; the
    CPU time that the sampler takes, and what an operation then costs, do not depend on them.
    """
    found: dict[float, list[Run]] = {0.0: [], RATE_PER_S: []}
    for order in [(0.0, RATE_PER_S), (RATE_PER_S, 0.0)] * (PAIRS * effort.pairs // 2):
        for rate in order:
            one = run("echo", effort.window_s, loop="uvloop", workers=2, waits_per_s=rate)
            found[rate].append(one)
    plain, sampled = found.values()
    rates = [each.ending.waits.rate_per_s if each.ending.waits else 0.0 for each in sampled]
    ratios = [ours.per_s / theirs.per_s for ours, theirs in zip(sampled, plain, strict=True)]
    detail = f"{median(rates):.0f} samples of each loop a second"
    yield Figure("echo on uvloop, N = 2, sampled / not", ratios, TARGET, detail=detail)
    yield Figure("  sampler's CPU / two cores", [*map(_cost, sampled)], at_most=1 - TARGET)
    costs = [ours.cpu_ns / theirs.cpu_ns for ours, theirs in zip(sampled, plain, strict=True)]
    yield Figure("  CPU of an operation, sampled / not", costs)


def _cost(found: Run) -> float:
    """The share that the sampler took of the time of both workers, a core each."""
    waits = found.ending.waits
    assert waits, "calls cannot be sampled here"
    return waits.cost_s / waits.took_s / len(found.record.workers)
