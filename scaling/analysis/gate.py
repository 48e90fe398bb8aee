"""The gate: checks of bounds on a study, judged by the interval of what is bounded.

A check holds where the 90 % interval is inside the bound, fails where the 95 % interval is beyond
it, and is open otherwise: the levels of the words for a ratio (`scaling.analysis.tables.words`).
"""

from collections.abc import Collection, Mapping

import numpy as np
import pandas as pd

from scaling.analysis.tables.across import across
from scaling.analysis.tables.cells import NONE, cell_name
from scaling.analysis.tables.ratios import GAIN
from scaling.analysis.tables.study import Study
from scaling.analysis.tables.words import MOST_BLOCKS, POWER_Z, Z_90, Z_95
from scaling.base.errors import UsageError
from scaling.study.presets import FEWEST_FOR_INTERVAL
from scaling.study.questions import OVER_PROCESSES, THROUGHPUT

type Choice = Mapping[str, Collection[object]]  # what a column of `cells` may be, by its name

AT = "workers"  # the column that `--at` names


def chosen(cells: pd.DataFrame, choice: Choice) -> pd.DataFrame:
    """The cells of closed loops that are chosen; controls only if they are named.

    Raises:
        UsageError: a name or an N that no cell has, or nothing is left.
    """
    found = cells[~cells["twin"] & ~cells["rated"] & (cells["rate"] == 0)]
    if found.empty:
        raise UsageError(
            "gate: this study has nothing but open loops, whose throughput is that of the schedule"
        )
    if "workload" not in choice:
        found = found[~found["control"]]
    for column, values in choice.items():
        there = sorted(found[column].unique())
        for value in values:
            if value not in there:
                flag = "at" if column == AT else column
                known = ", ".join(map(str, there))
                raise UsageError(f"gate: --{flag} {value}: not in this study, which has {known}")
        found = found[found[column].isin(list(values))]
    if found.empty:
        raise UsageError("gate: no curve of this study matches all options; leave one out")
    return found


def largest(cells: pd.DataFrame, choice: Choice) -> pd.DataFrame:
    """The cells of each curve's largest N above 1 with a core for each worker, or the Ns named.

    Raises:
        UsageError: no curve has such an N.
    """
    if AT in choice:
        return cells
    several = cells[
        (cells["workers"] > 1) & (cells["region"].isna() | (cells["region"] == "cores"))
    ]
    if several.empty:
        raise UsageError(
            "gate: no curve has an N above 1 with a core for each worker; choose an N with --at"
        )
    curve = ["workload", "parameters", "sizing", "loop", "arm", "model"]
    ordered = several.sort_values("workers")
    return ordered.drop_duplicates(curve, keep="last").sort_index()


# ------------------------------------------------------------------------------------------ checks
# A row per cell: `cell` and `what` name it; `ratio`, `low`, `high`, `n`, which was to be `least` or
# more; the `outcome` (holds, fails, open); how many `blocks` would decide what is open, NaN where
# that is not known.


def efficiency(study: Study, cells: pd.DataFrame, least: float) -> pd.DataFrame:
    """The checks that throughput over N times that of one worker is `least` or more.

    Raises:
        UsageError: a cell has no N above 1, or none of one worker that it could be over.
    """
    gains = _asked(study.ratios, cells, GAIN)
    for place, row in zip(cells.index, cells.to_dict("records"), strict=True):
        name = cell_name(row)
        if row["workers"] == 1:
            raise UsageError("gate: efficiency is 1 at N = 1; choose an N above 1 with --at")
        if row["one"] == NONE:
            raise UsageError(f"gate: {name}: efficiency needs N = 1, which was not measured")
        if place not in gains["of"].to_numpy():  # not open: a cell that always crashes would pass
            raise UsageError(
                f"gate: no valid runs for efficiency of {name}. "
                "`scaling show RESULTS --details` lists the reasons"
            )
    n = gains["workers"]
    shares = {name: gains[name] / n for name in ("ratio", "low", "high")}
    ends = {name: gains[name] - np.log(n) for name in ("low_90", "high_95")}
    return _checks(gains.assign(**shares, **ends), "efficiency", least)


def loss(study: Study, cells: pd.DataFrame, most: float) -> pd.DataFrame:
    """The checks that throughput is lower than that of the best processes by the share `most`, or
    less.

    Raises:
        UsageError: nothing is compared with processes.
    """
    found = _asked(study.ratios, cells, OVER_PROCESSES)
    if found.empty:
        raise UsageError("gate: --max-loss needs threads and processes at the same N in the study")
    return _checks(found, "throughput over processes", 1 - most)


def regression(now: Study, then: Study, cells: pd.DataFrame, most: float) -> pd.DataFrame:
    """The checks that throughput is lower than in an earlier study by the share `most`, or less.

    Raises:
        UsageError: the studies have none of these cells in common.
    """
    found = _asked(across(now, then), cells)
    if found.empty:
        raise UsageError(
            "gate: --against: the studies have no cell in common (workload, parameters, loop, arm, "
            "model, N)"
        )
    return _checks(found.assign(scatter=np.nan), "throughput over OLD", 1 - most)


def _asked(ratios: pd.DataFrame, cells: pd.DataFrame, question: str = "") -> pd.DataFrame:
    found = ratios[ratios["of"].isin(cells.index) & (ratios["measure"] == THROUGHPUT)]
    return found[found["question"] == question] if question else found


def _checks(found: pd.DataFrame, what: str, least: float) -> pd.DataFrame:
    limit, n = np.log(least), found["n"]
    usable = n >= FEWEST_FOR_INTERVAL
    holds, fails = found["low_90"] > limit, found["high_95"] < limit
    outcome = np.select([usable & holds, usable & fails], ["holds", "fails"], "open")
    distance = (np.log(found["ratio"]) - limit).replace(0.0, np.nan)
    z = np.where(distance > 0, Z_90, Z_95) + POWER_Z
    needed = np.ceil(np.pi / 3 * (z * found["scatter"] / distance) ** 2)
    # The fewest that can decide where too few were measured to say more.
    needed = needed.clip(lower=FEWEST_FOR_INTERVAL).mask(needed > MOST_BLOCKS)
    needed = needed.mask(needed.isna() & (n < FEWEST_FOR_INTERVAL), FEWEST_FOR_INTERVAL)
    checks = found[["ratio", "low", "high", "n"]].assign(
        least=least, outcome=outcome, blocks=needed.where(outcome == "open").astype("Int64")
    )
    checks.insert(0, "cell", [cell_name(row) for row in found.to_dict("records")])
    checks.insert(1, "what", what)
    return checks
