"""Studies at N up to 64 with planted scaling and the noise of the published machines.

Nothing here was measured: runs are drawn in the order of a study, with noise that neighbours share
(`tests.support.noise`). Laws give back what was planted, and words keep their error rates.
"""

import math

import numpy as np
import pytest

from scaling.analysis.arrays import Floats
from scaling.analysis.laws import USL, fit
from scaling.analysis.statistics.intervals import medians
from scaling.analysis.tables.words import RATE
from scaling.journal.record import Cell
from scaling.study.plan.order import Slot
from tests.support.noise import AFTER, Noise, simulated
from tests.support.simulated_laws import usl
from tests.support.words import worded

pytestmark = [pytest.mark.slow, pytest.mark.one_build]

NS = (1, 2, 4, 8, 16, 32, 64)
BLOCKS, STUDIES = 12, 40
# Contention and coherency: of threads that lose little, and those that get worse beyond 23.
PLANTED = (0.002, 0.00002), (0.06, 0.0018)
MODELS = ("threads", "processes")
CELLS = [
    Cell(workload="echo", loop="asyncio", arm="3.14t", model=model, workers=n)
    for n in NS
    for model in MODELS
]
# What chance can make of 5 % in so many studies.
ALLOWED = 0.05 + 3 * math.sqrt(0.05 * 0.95 / STUDIES)


def runs_of(
    threads: tuple[float, float], processes: tuple[float, float], seed: int
) -> dict[str, Floats]:
    """Throughput by model, shape (blocks, N)."""
    true = {
        model: usl(np.array(NS, float), *planted)
        for model, planted in zip(MODELS, (threads, processes), strict=True)
    }
    found = {model: np.empty((BLOCKS, len(NS))) for model in MODELS}
    for run, percent in simulated([*map(Slot, CELLS)], BLOCKS, AFTER, Noise(), seed):
        at = NS.index(run.cell.workers)
        found[run.cell.model][run.block, at] = true[run.cell.model][at] * math.exp(percent / 100)
    return found


@pytest.mark.parametrize("planted", PLANTED)
def test_intervals_hold_what_was_planted(planted: tuple[float, float]) -> None:
    held = np.zeros(2)
    for seed in range(STUDIES):
        found = runs_of(planted, (0.0, 0.0), seed)["threads"]
        known = medians(np.array([fit(np.array(NS, float), each, USL, each) for each in found]))
        held += (known.low[1:3] <= planted) & (planted <= known.high[1:3])
    assert held.min() / STUDIES >= 1 - ALLOWED, held


def test_planted_contention_is_found_where_it_is_and_not_where_it_is_not() -> None:
    """Threads lose a third to processes at N = 64, and nothing that could be seen at N = 2."""
    slower = np.zeros(len(NS))
    for seed in range(STUDIES):
        found = runs_of((0.01, 0.0), (0.002, 0.0), seed)
        slower += worded(found["threads"], found["processes"])["word"] == RATE.worse
    rate = dict(zip(NS, slower / STUDIES, strict=True))
    assert max(rate[1], rate[2]) <= ALLOWED
    assert rate[64] >= 0.95
