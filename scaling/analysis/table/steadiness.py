"""Steadiness of a window: level, warming, slowing or unsteady.

The sub-windows between ticks are gathered into quarters, and every quarter is compared with every
later one. A pair differs if the later quarter lies more than `LEAST_CHANGE` of the mean rate above
or below the earlier one, and further than chance takes it there: Student's t on the scatter inside
the quarters, shared out over the six pairs (O. J. Dunn, Multiple comparisons among means, 1961), so
that a level run exceeds it in no more than `FALSE_ALARMS`. A change within the scatter inside the
quarters counts as level: a noisy workload does not look like an unsteady one.

Simulated with 20 sub-windows: of level runs 99.5 % are called level, whether the noise is normal,
skewed, heavy-tailed or that of few operations, and 99 % where neighbouring sub-windows have a
correlation of 0.3. A rise of 10 %, at once or over half the window or more, is found in all runs
with a noise of 1 % in a sub-window, and in 93 % or more with one of 2 %. With 10 sub-windows the
quarters are short, and much less is found.
"""

from functools import cache

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.column import WORD, Column
from scaling.analysis.stacks import NS_PER_S, Stack
from scaling.analysis.table.ticks import from_ticks

PARTS = 4  # a last quarter that is not level is the sign of a run that has not settled
FEWEST_SUB_WINDOWS = 8  # below that a quarter has one sub-window, and says nothing of its noise
FALSE_ALARMS = 0.005  # of level runs, where the noise is normal

# A quarter weighs a fourth: this moves the mean by 1.25 %, inside the margin of a verdict.
LEAST_CHANGE = 0.05

LEVEL, WARMING, SLOWING, UNSTEADY = "level", "warming", "slowing", "unsteady"


def rates_over_time(stack: Stack) -> Floats:
    """Operations per ns of all workers in each sub-window; shape runs × sub-windows.

    Of finite work the sub-windows are its rounds, each until the last worker has finished.
    """
    if not stack.finite:
        return np.asarray(stack.paces.sum(axis=1))
    done = np.diff(stack.operations, axis=-1).sum(axis=1)
    took_s = np.where(stack.rated[..., None], stack.rounds_s, -np.inf).max(axis=1)
    return np.asarray(done / took_s / NS_PER_S)


def rise_and_fall(rates: Floats) -> tuple[Floats, Floats]:
    """By how much of the mean rate a quarter rises above, or falls below, an earlier one, at most.

    Shape in: runs × sub-windows; out: (runs,) each, the fall negative. 0 where nothing differs; NaN
    for fewer than `FEWEST_SUB_WINDOWS`, and where no rate is known.
    """
    runs, count = rates.shape
    if count < FEWEST_SUB_WINDOWS:
        return np.full(runs, np.nan), np.full(runs, np.nan)
    quarters = np.array_split(rates, PARTS, axis=1)
    within = sum(quarter.var(axis=1) * quarter.shape[1] for quarter in quarters)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = rates.mean(axis=1)
        scatter = _chance(count - PARTS) * np.sqrt(within / (count - PARTS)) / mean
        level = np.array([quarter.mean(axis=1) for quarter in quarters])
        lasts = np.array([quarter.shape[1:] for quarter in quarters])
        earlier, later = np.triu_indices(PARTS, 1)
        change = (level[later] - level[earlier]) / mean
        error = np.sqrt(1 / lasts[earlier] + 1 / lasts[later])
        differs = np.abs(change) > np.maximum(LEAST_CHANGE, scatter * error)
    change = np.where(differs, change, 0.0)
    none = np.where(np.isfinite(scatter), 0.0, np.nan)
    return np.maximum(none, change.max(axis=0)), np.minimum(none, change.min(axis=0))


def late_rise(rates: Floats) -> Floats:
    """The last quarter of a window over the rest, minus 1; shape as above."""
    count = rates.shape[1]
    if count < FEWEST_SUB_WINDOWS:
        return np.full(len(rates), np.nan)
    last = count // PARTS
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(rates[:, -last:].mean(axis=1) / rates[:, :-last].mean(axis=1) - 1)


def steadiness(rise: float, fall: float) -> str | None:
    """The class of a run: `unsteady` if it both rises and falls, None if that is not known."""
    if rise != rise:
        return None
    if rise > 0:
        return UNSTEADY if fall < 0 else WARMING
    return SLOWING if fall < 0 else LEVEL


@cache
def _chance(freedom: int) -> float:
    """The standard errors that a pair of quarters must be apart, with the scatter's freedom."""
    from scipy.special import stdtrit  # scipy takes longer to import than a run to judge

    pairs = PARTS * (PARTS - 1) // 2
    return float(stdtrit(freedom, 1 - FALSE_ALARMS / (2 * pairs)))


STEADINESS = {
    "steadiness": Column(
        read=lambda rows: list(map(steadiness, rows["rise"].tolist(), rows["fall"].tolist())),
        dtype=WORD,
        definition="level, warming, slowing or unsteady: the quarters of the window, or of the "
        "rounds of finite work, against each other",
    ),
    "late_rise": Column(
        read=from_ticks(lambda stack: late_rise(rates_over_time(stack))),
        definition="rate in the last quarter of the window ÷ rate before it, minus 1",
    ),
    "rise": Column(
        read=from_ticks(lambda stack: rise_and_fall(rates_over_time(stack))[0]),
        definition="by how much of the mean rate a quarter rises above an earlier one, at most",
        in_frame=False,
    ),
    "fall": Column(
        read=from_ticks(lambda stack: rise_and_fall(rates_over_time(stack))[1]),
        definition="by how much of the mean rate a quarter falls below an earlier one, at most",
        in_frame=False,
    ),
}
