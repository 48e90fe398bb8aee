"""Whether values fall apart into two groups, as those of processes that are in one of two states.

Addresses, hash seeds or an allocator can put a process into one of two states for its whole life.
The ratio of two cells is then one of two numbers, and the median over blocks says how often each
came up rather than how fast a cell is. Such a ratio has no verdict. What is looked at is the ratio,
not the runs of either cell: where the machine changed half-way, the runs of every cell fall apart,
and ratios inside blocks do not.

Values fall apart where the gap between two neighbours is many times the standard deviation inside
either group, each of which has a quarter of the values or more: a few outliers are no state. How
many times (`GAPS`) was found by simulation: one study in a hundred is above it where there is one
group, whichever of these it is drawn from is the worst (60,000 studies each): normal, uniform,
Laplace, Student's t with 2 degrees of freedom, lognormal, exponential, normal with a drift of three
standard deviations, normal with neighbours that correlate by 0.6. Uniform values and those with one
long tail are the worst.

By simulation a cell whose processes are in either of two states, 10 standard deviations and 10 %
apart, each with a chance of one half, is found in 27 % of studies of 6 blocks, 43 % of 8, 93 % of
12 and 99 % of 20; every word about such a ratio is half wrong. Words were given in 13, 6, 1.7 and
0.3 % of these studies; without the rule in 12, 4, 6 and 6 %. So it needs more than 8 blocks, and
with fewer there is little that a rule could look at: of the words in 4,000 studies of 8 blocks (in
4.6 % of them), nine in ten were given where all blocks, or all but one, came out in the same state,
and one value far from seven others may be an outlier. Where both cells have the same two states,
words are rare with and without it (below 2 %).

States that last for many blocks are found in part only: equal cells that keep theirs from block to
block with a chance of 80 % are called different in 7 % of studies of 20 blocks (14 % without), in
18 % of 8. One such state lasts through all of 8 blocks in 21 % of studies, which leaves no trace in
the order of the runs either; two thirds of the words about such a cell were given there.
tests/analysis/test_verdicts_keep_their_error_rates.py repeats the first two.
"""

from typing import NamedTuple

import numpy as np

from scaling.analysis.arrays import Flags, Floats

# By the number of values, from six on; that of 20 for more.
FEWEST = 6
GAPS = (9.1, 8.0, 7.5, 4.9, 4.6, 4.2, 3.9, 3.4, 3.2, 3.0, 2.8, 2.7, 2.5, 2.4, 2.3)


class TwoStates(NamedTuple):
    """Two groups of values: the median of each, and how many it has."""

    low: float
    of_low: int
    high: float
    of_high: int


def two_states(values: Floats, least: float) -> TwoStates | None:
    """The two groups that values of shape (n,) fall into, at least so far apart; None for one."""
    n, ordered = len(values), np.sort(values)
    if n < FEWEST or np.diff(ordered).max() <= least:
        return None  # soon known of most
    apart = splits(values, least)
    if not apart.any():
        return None
    size = _fewest(n) + int(np.argmax(apart))
    low, high = ordered[:size], ordered[size:]
    return TwoStates(float(np.median(low)), size, float(np.median(high)), n - size)


def splits(values: Floats, least: float) -> Flags:
    """Where values of shape (…, n) fall apart: a flag for each size of the lower group, from the
    least to the greatest that it can have.
    """
    n = values.shape[-1]
    if n < FEWEST:
        return np.zeros(0, np.bool_)
    sizes = np.arange(_fewest(n), n - _fewest(n) + 1)
    ordered = np.sort(values - values.mean(axis=-1, keepdims=True), axis=-1)
    gaps = np.diff(ordered, axis=-1)[..., sizes - 1]
    lower = _variances(ordered, sizes)
    upper = _variances(-ordered[..., ::-1], n - sizes)
    times = GAPS[min(n - FEWEST, len(GAPS) - 1)]
    found: Flags = (gaps > least) & (gaps > times * np.sqrt(np.maximum(lower, upper)))
    return found


def _fewest(n: int) -> int:
    """The least size of a group."""
    return -(-n // 4)


def _variances(ordered: Floats, sizes: np.ndarray[tuple[int], np.dtype[np.int_]]) -> Floats:
    """Of the first values, so many each time."""
    sums, squares = np.cumsum(ordered, axis=-1), np.cumsum(ordered**2, axis=-1)
    within = squares[..., sizes - 1] - sums[..., sizes - 1] ** 2 / sizes
    found: Floats = np.maximum(within, 0.0) / (sizes - 1)
    return found
