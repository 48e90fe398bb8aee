"""What precision a study will reach, estimated from its A/A pairs while it is being measured.

The two runs of an A/A pair, in one block, are runs of the same cell, and the true value of their
ratio is 1. Its logarithm scatters by sqrt(2) times what a run scatters by, just as that of any
ratio inside a block does, so the root mean square of these logarithms, over all workloads and the
blocks so far, stands for the scatter s of a headline ratio.

With n blocks such a ratio's values are expected at exp(s z_i), z_i = Phi^-1((i - 3/8) / (n + 1/4))
(the mean order statistics of a normal sample; G. Blom, Statistical Estimates and Transformed
Beta-Variables, 1958). The interval that the study's own estimator gives to these values is what it
is expected to give. That noise is alike in all cells is assumed, which makes this a rough figure.
"""

import math
from collections.abc import Callable, Iterable
from statistics import NormalDist

import numpy as np
from msgspec.structs import replace

from scaling.analysis.statistics.estimate import median
from scaling.analysis.table.ticks import throughputs
from scaling.journal.identity import cell_key
from scaling.journal.record import Cell, RunLine


def pair_scatter(runs: Iterable[RunLine], invalid: Callable[[RunLine], object]) -> float:
    """Root mean square of ln(second over first run), over all valid pairs; NaN without one.

    Of several attempts at a run the last one counts. `invalid` says of a run whether it is.
    """
    last = {(run.block, run.cell.twin, _without_label(run.cell)): run for run in runs}
    found = []
    for (block, twin, name), run in last.items():
        original = last.get((block, False, name))
        if twin and original is not None and not invalid(run) and not invalid(original):
            ours, theirs = throughputs([run.record, original.record])
            if ours > 0 and theirs > 0:
                found.append(math.log(ours / theirs))
    return float(np.sqrt(np.mean(np.square(found)))) if found else math.nan


def expected_half_width(scatter: float, blocks: int) -> float:
    """Half the width, relative to the ratio, that the interval is expected to have with `blocks`.

    Infinite where so few blocks give no interval; NaN where the scatter is not known.
    """
    if math.isnan(scatter):
        return math.nan
    ranks = np.arange(1, blocks + 1)
    shares = (ranks - 0.375) / (blocks + 0.25)
    values = np.exp([scatter * NormalDist().inv_cdf(share) for share in shares])
    return median(values, "×").relative_half_width


def _without_label(cell: Cell) -> str:
    return cell_key(replace(cell, twin=False))
