"""Outliers: runs whose throughput lies far from that of the others of their cell.

The rule is hyperfine's (src/outlier_detection.rs): the modified z-score, a value's distance from
the median in multiples of the median absolute deviation, after B. Iglewicz and D. Hoaglin, How to
Detect and Handle Outliers (1993), with hyperfine's threshold of ten standard deviations. An outlier
is labelled and stays in every figure: it hardly moves a median, and may be a finding itself.
"""

import numpy as np
import pandas as pd

from scaling.analysis.arrays import Flags, Floats
from scaling.analysis.table.groups import CELL
from scaling.analysis.validity import TOLERANCE

# 1.4826 MAD are a standard deviation where the noise is normal.
THRESHOLD = 1.4826 * 10

# With fewer runs, two that happen to be close make another one look far off. With normal noise of
# 3 % that happens by chance in 9 of 100 cells of 3 runs, in 3 of 5 runs, 1 of 6, and 0.5 of 8.
FEWEST = 6


def outliers(values: Floats) -> Flags:
    """Which of a cell's values are outliers; shape in and out: (runs,).

    Values that are not finite are ignored. A value within the margin of the median is no outlier,
    even if all others are equal (a MAD of 0 or nearly so).
    """
    known = values[np.isfinite(values)]
    if len(known) < FEWEST:
        return np.zeros(len(values), np.bool_)
    middle = np.median(known)
    far = max(THRESHOLD * np.median(np.abs(known - middle)), TOLERANCE * abs(middle))
    return np.asarray(np.isfinite(values) & (np.abs(values - middle) > far))


def label_outliers(frame: pd.DataFrame) -> Flags:
    """The same for every valid run of a frame, cell by cell; shape: (rows,)."""
    labelled = np.zeros(len(frame), np.bool_)
    valid = np.flatnonzero(frame["valid"].to_numpy())
    if len(valid) < FEWEST:
        return labelled
    throughput = frame["throughput_per_s"].to_numpy()
    of_cells = frame[list(CELL)].iloc[valid]  # not all hundred columns
    cells = of_cells.groupby(list(CELL), observed=True, sort=False).ngroup().to_numpy()
    order = np.argsort(cells, kind="stable")
    for rows in np.split(valid[order], np.flatnonzero(np.diff(cells[order])) + 1):
        labelled[rows] = outliers(throughput[rows])
    return labelled
