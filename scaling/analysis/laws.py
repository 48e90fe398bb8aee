"""Laws of scaling: what a curve follows inside one topology region.

Both are the Universal Scalability Law (N. J. Gunther, Guerrilla Capacity Planning, Springer 2007,
eq. 4.31), Amdahl's (AFIPS 30, 1967, 483-485) with beta = 0:

    X(N) = gamma N / (1 + alpha (N - 1) + beta N (N - 1))

`gamma` is the throughput of one worker in operations/s, `alpha` the contention (the share of the
work that only one can do at a time), `beta` the coherency (what each pair of workers costs). A
curve bends where the hardware does, so a law is fitted inside one region. Each block is fitted by
itself, and parameters are medians over the blocks with the interval of every other figure: in
simulated studies with the noise of runs these hold the parameters in 89 % or more
(tests/analysis/test_laws_recover_what_is_known.py).
"""

import math
from typing import Any
from warnings import catch_warnings

import numpy as np
import pandas as pd

from scaling.analysis.arrays import Floats
from scaling.analysis.statistics.intervals import medians
from scaling.analysis.table.groups import CURVE
from scaling.analysis.tables.study import Study
from scaling.study.questions import THROUGHPUT

PARAMETERS = ("gamma", "alpha", "beta")
UPPER = (math.inf, 1.0, 1.0)  # the lower bound of each parameter is 0
AMDAHL, USL = 2, 3  # how many of the parameters each law has
NAMES = {AMDAHL: "Amdahl", USL: "USL"}
FIRST: Floats = np.array([1.0, 0.01, 1e-4])  # where the search begins, with X(1) as the unit
FEWEST_N = 6  # distinct Ns in a region


def throughput(workers: Floats, gamma: float, alpha: float, beta: float = 0.0) -> Floats:
    """X(N) in operations/s, of the shape of `workers`."""
    divisor = 1 + alpha * (workers - 1) + beta * workers * (workers - 1)
    return np.asarray(gamma * workers / divisor)


def fit(workers: Floats, values: Floats, count: int, sigma: Floats | None = None) -> Floats:
    """The parameters (`count`,) that fit `values` (K,) at `workers` (K,) best; NaN where none do.

    Residuals are divided by `sigma` (K,). Nothing bounds the parameters: noise around 0 has both
    signs, and their medians would be too large without the negative ones.
    """
    from scipy.optimize import OptimizeWarning, curve_fit  # takes longer to import than a plan

    unit = np.array([values[0] / workers[0], 1.0, 1.0])[:count]
    try:
        # A perfect fit is warned of, and the search may pass where the divisor is 0.
        with catch_warnings(action="ignore", category=OptimizeWarning), np.errstate(all="ignore"):
            found, _ = curve_fit(throughput, workers, values / unit[0], FIRST[:count], sigma)
    except RuntimeError:  # the search does not end
        return np.full(count, np.nan)
    return np.asarray(found * unit)


def laws(study: Study) -> pd.DataFrame:
    """The law of every curve in each region where it has `FEWEST_N` Ns or more.

    A row per parameter: gamma, alpha and, of the Universal Scalability Law, beta and the N with
    the highest throughput (`peak`). Columns: those of `cells` that name the curve; `region`;
    `workers`, as `1–8`; `law`; `measure`, the parameter; `point`, `low`, `high`, `n` (blocks),
    `bound` (0). A block that lacks a run of the region is in none.
    """
    cells = study.cells[~study.cells["twin"] & ~study.cells["rated"]]
    measured = study.measures[THROUGHPUT].value
    rows = []
    for _, region in cells.groupby([*CURVE, "region"], sort=False, observed=True):
        at = region[np.isfinite(measured[:, region.index]).any(axis=0)].sort_values("workers")
        ns, runs = at["workers"].to_numpy(np.float64), measured[:, at.index]
        runs = runs[(runs > 0).all(axis=1)]
        if len(ns) >= FEWEST_N and len(runs):
            curve: dict[Any, Any] = at.iloc[0][["name", "loop", "arm", "model", "region"]].to_dict()
            curve |= {"workers": f"{ns.min():.0f}–{ns.max():.0f}", "n": len(runs), "bound": 0}
            law, found = law_of(ns, runs)
            rows += [{**curve, "law": law, **row} for row in found.reset_index().to_dict("records")]
    return pd.DataFrame(rows)


def law_of(ns: Floats, runs: Floats) -> tuple[str, pd.DataFrame]:
    """The name of the law of `runs` (blocks, K), all known, at `ns` (K,), and its parameters.

    A row per parameter, indexed by `measure`: `point`, `low`, `high`. It is the Universal
    Scalability Law if the interval of its beta excludes 0, else Amdahl's, whose intervals cover
    those of both: the data do not prove that beta is 0. No rows where no block can be fitted.
    """
    ends = ["point", "low", "high"]
    usl, amdahl = (
        medians(np.array([fit(ns, block, count, sigma=block) for block in runs]))
        for count in (USL, AMDAHL)
    )
    if not amdahl.n[0]:
        return NAMES[AMDAHL], pd.DataFrame(columns=ends, index=pd.Index([], name="measure"))
    is_usl = usl.low[-1] > 0
    fits, count = ((usl,), USL) if is_usl else ((amdahl, usl), AMDAHL)
    point, low, high = (np.array([each[place][:count] for each in fits]) for place in range(3))
    values = np.stack([point[0], np.nanmin(low, axis=0), np.nanmax(high, axis=0)])
    values = np.clip(values, 0.0, UPPER[:count])
    found = pd.DataFrame(values.T, index=pd.Index(PARAMETERS[:count], name="measure"), columns=ends)
    if is_usl:
        # More of either parameter lowers the N with the highest throughput.
        alpha, beta = found.loc[["alpha", "beta"], ["point", "high", "low"]].to_numpy()
        found.loc["peak"] = np.sqrt((1 - alpha) / beta)
    return NAMES[count], found
