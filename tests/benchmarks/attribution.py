"""What does it cost to sample what the loops' threads wait in?"""

from collections.abc import Iterator
from statistics import median

from scaling.run.waits import RATE_PER_S
from tests.benchmarks.cells import Run, run
from tests.benchmarks.figure import Effort, Figure

TARGET = 0.995  # of the throughput without
PAIRS = 4  # for each that other benchmarks make: half a per cent is little


def figures(effort: Effort, *, free_threaded: bool) -> Iterator[Figure]:
    """`echo` on uvloop at N = 2, where each core has a loop of its own: with over without.

    The order alternates. Where other programs run meanwhile, the first figure says little. The
    other two do not depend on them: the CPU time that the sampler takes, and what an operation then
    costs.
    """
    del free_threaded
    pairs = [
        {rate: _run(effort, rate) for rate in order}
        for order in [(0.0, RATE_PER_S), (RATE_PER_S, 0.0)] * (PAIRS * effort.pairs // 2)
    ]
    with_waits = [found[RATE_PER_S] for found in pairs]
    yield Figure(
        "echo on uvloop, N = 2, sampled / not",
        [found[RATE_PER_S].throughput_per_s / found[0].throughput_per_s for found in pairs],
        "at least",
        TARGET,
        detail=f"{median(map(_rate_per_s, with_waits)):.0f} samples of each loop a second",
    )
    yield Figure("  sampler's CPU / two cores", list(map(_cost, with_waits)), "at most", 1 - TARGET)
    yield Figure(
        "  CPU of an operation, sampled / not",
        [
            found[RATE_PER_S].cpu_ns_per_operation / found[0.0].cpu_ns_per_operation
            for found in pairs
        ],
        "at most",
        None,
    )


def _run(effort: Effort, rate_per_s: float) -> Run:
    return run("echo", effort.window_s, loop="uvloop", workers=2, waits_per_s=rate_per_s)


def _rate_per_s(measured: Run) -> float:
    return measured.ending.waits.rate_per_s if measured.ending.waits else 0.0


def _cost(measured: Run) -> float:
    """The share that the sampler took of the time of both workers, a core each."""
    waits = measured.ending.waits
    assert waits, "calls cannot be sampled here"
    return waits.cost_s / waits.took_s / len(measured.record.workers)
