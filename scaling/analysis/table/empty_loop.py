"""Subtraction of the empty loop from workload `primitives`, which leaves the calls alone.

Every row is a loop around calls; the row `nothing` is the loop alone, measured in the same block
with the same arm, model and number of workers. With the throughputs T of a row and E of `nothing`,
which count calls, N workers spend N/T on a call and N/E of that on the loop. Throughput without the
loop is therefore 1 / (1/T - 1/E), and the CPU time of a call is the difference of the two. (The
documentation of `timeit` calls E its baseline overhead, and leaves the subtraction to the reader.)
"""

import numpy as np
import pandas as pd

from scaling.analysis.arrays import Flags, Floats
from scaling.journal.record import Parameters
from scaling.study.questions import CPU, THROUGHPUT

PRIMITIVES, PARAMETER, EMPTY = "primitives", "primitive", "nothing"
PLACE = ["sizing", "loop", "arm", "model", "workers"]


def without_loop(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame of a study with the empty loop subtracted from throughput and CPU time per call.

    In a block without a valid run of `nothing` the median of the other blocks is subtracted; where
    there is none at all, nothing is. A row has no values if one of its valid runs was no slower
    than the loop: to leave out that run alone would be to select by result.
    """
    ours = np.flatnonzero((frame["workload"] == PRIMITIVES).to_numpy())
    if not ours.size:
        return frame
    runs = frame.iloc[ours]
    is_loop, valid = _is_loop(runs["parameters"]), runs["valid"].to_numpy(np.bool_)
    used = runs[is_loop & valid & ~runs["twin"].to_numpy(np.bool_)]
    changed: dict[str, Floats] = {}
    for measure in (THROUGHPUT, CPU):
        found = runs[measure].to_numpy(np.float64)
        loop = _beside(used, runs, measure)
        subtracted = ~is_loop & np.isfinite(loop) & np.isfinite(found)
        with np.errstate(divide="ignore", invalid="ignore"):
            left = found - loop if measure == CPU else 1 / (1 / found - 1 / loop)
        failed = subtracted & ~((left > 0) & np.isfinite(left))
        row = [runs[name] for name in ("parameters", *PLACE)]
        of_row = pd.Series(failed & valid, runs.index).groupby(row, observed=True)
        none = failed | of_row.transform("any").to_numpy(np.bool_)
        changed[measure] = frame[measure].to_numpy(np.float64, copy=True)
        changed[measure][ours] = np.where(none, np.nan, np.where(subtracted, left, found))
    return frame.assign(**changed)


def _is_loop(parameters: "pd.Series[str]") -> Flags:
    places, texts = pd.factorize(parameters)
    is_loop = [Parameters.read(str(text)).get(PARAMETER) == EMPTY for text in texts]
    return np.array(is_loop, np.bool_)[places]


def _beside(loops: pd.DataFrame, runs: pd.DataFrame, measure: str) -> Floats:
    """A measure of the empty loop beside each run, shape (runs,)."""
    at_place = loops.groupby(PLACE, observed=True)[measure].median().rename("usual").reset_index()
    in_block = loops.groupby(["block", *PLACE], observed=True)[measure].last().rename("own")
    keys = runs[["block", *PLACE]]
    found = keys.merge(in_block.reset_index(), how="left").merge(at_place, how="left")
    return np.asarray(found["own"].fillna(found["usual"]), np.float64)
