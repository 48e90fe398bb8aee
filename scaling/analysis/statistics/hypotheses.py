"""Two tests: of values for two states, where no word holds; of many words for those to count."""

import numpy as np

from scaling.analysis.arrays import Flags, Floats, Integers
from scaling.study.presets import FEWEST_FOR_INTERVAL

# --------------------------------------------------------------------------------------- two states
# Whether values fall apart into two groups, as those of processes that are in one of two states.
#
# Addresses, hash seeds or an allocator can put a process into one of two states for its whole life.
# The ratio of two cells is then one of two numbers, and the median over blocks says how often each
# came up rather than how fast a cell is. Such a ratio has no word. What is looked at is the
# ratio, not the runs of either cell: where the machine changed half-way, the runs of every cell
# fall apart, and ratios inside blocks do not.
#
# Values fall apart where the gap between two neighbours is many times the standard deviation inside
# either group, each of which has a quarter of the values or more: a few outliers are no state. How
# many times (`GAPS`) was found by simulation: one study in a hundred is above it where there is one
# group, whichever of these it is drawn from is the worst (60,000 studies each): normal, uniform,
# Laplace, Student's t with 2 degrees of freedom, lognormal, exponential, normal with a drift of
# three standard deviations, normal with neighbours that correlate by 0.6. Uniform values and those
# with one long tail are the worst.
#
# By simulation a cell whose processes are in either of two states, 10 standard deviations and 10 %
# apart, each with a chance of one half, is found in 29 % of studies of 6 blocks, 43 % of 8, 91 % of
# 12 and 99 % of 20. The others are given words, in 41, 36, 9 and 1 % of studies; without the rule
# there would be words in 52, 58, 97 and 100 %, and of 20 blocks "slower" in 42 %. So it needs more
# than 8 blocks, and with fewer there is little that a rule could look at: most of the words of 8
# blocks are given where all blocks, or all but one, came out in the same state, and one value far
# from seven others may be an outlier.
#
# States that last for many blocks are found in part only: equal cells that keep theirs from block
# to block with a chance of 80 % are called slower or faster in 3 % of studies of 20 blocks (8 %
# without the rule), in 6 % of 8.
# tests/analysis/test_words_keep_their_error_rates.py repeats the first.

# By the number of values, from six on; that of 20 for more.
GAPS = (9.1, 8.0, 7.5, 4.9, 4.6, 4.2, 3.9, 3.4, 3.2, 3.0, 2.8, 2.7, 2.5, 2.4, 2.3)


def splits(ordered: Floats, least: float) -> Flags:
    """Flags of columns of ascending values that fall into two groups at least `least` apart,
    shape (columns,). `ordered` has shape (n, columns).
    """
    n, fewest = len(ordered), -(-len(ordered) // 4)
    if n < FEWEST_FOR_INTERVAL:
        return np.zeros(ordered.shape[1], np.bool_)
    sizes = np.arange(fewest, n - fewest + 1)  # that the lower group can have
    centred = ordered - ordered.mean(axis=0)
    gaps = np.diff(centred, axis=0)[sizes - 1]
    within = np.maximum(_variances(centred, sizes), _variances(-centred[::-1], n - sizes))
    times = GAPS[min(n - FEWEST_FOR_INTERVAL, len(GAPS) - 1)]
    found: Flags = ((gaps > least) & (gaps > times * np.sqrt(within))).any(axis=0)
    return found


def _variances(values: Floats, sizes: Integers) -> Floats:
    """Variances of the first values of each column, `sizes` of them: shape (sizes, columns)."""
    sums, squares = np.cumsum(values, axis=0), np.cumsum(values**2, axis=0)
    counts = sizes[:, np.newaxis]
    within = squares[sizes - 1] - sums[sizes - 1] ** 2 / counts
    found: Floats = np.maximum(within, 0.0) / (counts - 1)
    return found


# ------------------------------------------------------------------------------------- many at once

FALSE_DISCOVERIES = 0.05  # the share of wrong differences among those that a sentence counts


def p_above(table: Floats, border: Floats) -> Floats:
    """The one-sided p-value of Student's test for a mean above a border, shape (columns,).

    `table` has shape (blocks, columns), NaN for no value. The order statistics of few blocks, on
    which intervals rest, have no small p-values: of six blocks none is below 1/64.
    """
    from scipy.special import stdtr  # scipy.stats takes longer to import than a study to analyse

    n = np.isfinite(table).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.nansum(table, axis=0) / n
        error = np.sqrt(np.nansum((table - mean) ** 2, axis=0) / (n - 1) / n)
        found = stdtr(n - 1, (border - mean) / error)
    return np.where(n > 1, np.where(error > 0, found, mean <= border), 1.0)


def discoveries(p_values: Floats) -> Flags:
    """Flags of the hypotheses, shape (n,), that count as true, so that at most 5 % of these are
    expected to be wrong (Y. Benjamini, Y. Hochberg, Journal of the Royal Statistical Society B 57
    (1995), 289-300).
    """
    order = np.argsort(p_values)
    ranks = np.arange(1, len(order) + 1)
    below = np.flatnonzero(p_values[order] <= FALSE_DISCOVERIES * ranks / len(order))
    found = np.zeros(len(order), np.bool_)
    found[order[: below[-1] + 1 if len(below) else 0]] = True
    return found
