"""The rate of an open loop as a share of the peak: the most that was answered in a closed loop.

A peak is the best of all cells with as many workers that the rates depend on in the same way, by
the median over blocks. A study without such cells has the peak of the calibration that made its
rates, of whatever number of workers.
"""

import numpy as np
import pandas as pd

from scaling.analysis.arrays import Floats
from scaling.journal.record import Parameters, StudyLine
from scaling.study.load import deciding


def shares_of_peak(table: pd.DataFrame, throughput: Floats, study: StudyLine) -> Floats:
    """Shape (cells,): NaN for a cell in a closed loop, and where no peak is known.

    `table` has the cells (`scaling.analysis.tables.cells`), `throughput` is in operations/s, NaN
    where a cell has no run: shape (blocks, cells).
    """
    subjects = [(cell.workload, deciding(cell)) for cell in table["cell"]]
    calibrated = {
        (each.workload, Parameters.of(each.parameters)): each.peak_per_s
        for each in study.calibrations
    }
    known = pd.DataFrame(throughput).median()
    of_one = pd.MultiIndex.from_arrays([pd.factorize(pd.Series(subjects))[0], table["workers"]])
    is_closed = (table["rate"] == 0) & ~table["twin"] & ~table["rated"]
    measured = known.where(is_closed).groupby(of_one).transform("max")
    peak = measured.fillna(pd.Series([calibrated.get(each) for each in subjects], dtype=float))
    return np.where(table["rate"] > 0, table["rate"] / peak, np.nan)
