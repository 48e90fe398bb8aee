"""How often the intervals of a fitted law hold the parameters that the data were made with."""

from collections.abc import Iterator

from scaling.base.formats import plural
from tests.benchmarks.figure import Effort, Figure
from tests.support.simulated_laws import CASES, rates_held

STUDIES_PER_PAIR = 40


def figures(effort: Effort, *, free_threaded: bool) -> Iterator[Figure]:
    """A figure for each parameter and case; the intervals are of 95 %."""
    del free_threaded
    studies = STUDIES_PER_PAIR * effort.pairs
    for shape, noise, blocks in CASES:
        for name, rate in rates_held(shape, noise, blocks, studies).items():
            yield Figure(
                f"{name}, {shape}, {noise} noise",
                [rate],
                "at least",
                0.90,
                detail=f"{studies} studies of {plural(blocks, 'block')}",
            )
