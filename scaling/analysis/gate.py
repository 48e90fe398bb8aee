"""The gate: whether a study keeps a bound, judged by the interval of what is bounded.

A check holds where the 90 % interval is inside the bound, fails where the 95 % interval is beyond
it, and is open otherwise: the levels of the words for a ratio (`scaling.analysis.tables.words`).
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from scaling.analysis.arrays import Floats
from scaling.analysis.statistics.intervals import lower, ratio_medians, scatter
from scaling.analysis.tables.across import across
from scaling.analysis.tables.cells import NONE
from scaling.analysis.tables.study import Study
from scaling.analysis.tables.words import MOST_BLOCKS, POWER_Z, Z_90, Z_95
from scaling.base.errors import UsageError
from scaling.study.presets import FEWEST_FOR_INTERVAL
from scaling.study.questions import OVER_PROCESSES, THROUGHPUT

type Outcome = Literal["holds", "fails", "open"]
type Choice = Mapping[str, Collection[object]]  # what a column of `cells` may be, by its name

AT = "workers"  # the column that `--at` names


@dataclass(frozen=True, slots=True)
class Check:
    """One cell against a bound: the `ratio` of `what`, with its interval, was to be `least` or
    more. `blocks` would decide what is open, None where that is not known.
    """

    cell: str
    what: str
    ratio: float
    low: float
    high: float
    n: int
    least: float
    outcome: Outcome
    blocks: int | None


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
    """Of each curve the largest N above 1 with a core for each worker, or the Ns that are named.

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


def efficiency(study: Study, cells: pd.DataFrame, least: float) -> Iterator[Check]:
    """That throughput over N times that of one worker is `least` or more.

    Raises:
        UsageError: a cell has no N above 1, or none of one worker that it could be over.
    """
    throughput = study.measures[THROUGHPUT].value
    for place, row in cells.iterrows():
        one, n, name = row["one"], row["workers"], _name(row)
        if n == 1:
            raise UsageError("gate: efficiency is 1 at N = 1; choose an N above 1 with --at")
        if one == NONE:
            raise UsageError(f"gate: {name}: efficiency needs N = 1, which was not measured")
        values = throughput[:, [int(str(place))]] / throughput[:, [one]] / n
        yield _paired(name, "efficiency", values, least)


def loss(study: Study, cells: pd.DataFrame, most: float) -> Iterator[Check]:
    """That throughput is lower than that of the best processes by the share `most`, or less.

    Raises:
        UsageError: nothing is compared with processes.
    """
    ratios = study.ratios
    asked = (ratios["question"] == OVER_PROCESSES) & (ratios["measure"] == THROUGHPUT)
    found = ratios[asked & ratios["of"].isin(cells.index)]
    if found.empty:
        raise UsageError("gate: --max-loss needs threads and processes at the same N in the study")
    throughput = study.measures[THROUGHPUT].value
    for row in found.to_dict("records"):
        values = throughput[:, [row["of"]]] / throughput[:, [row["over"]]]
        yield _paired(_name(row), "throughput over processes", values, 1 - most)


def regression(now: Study, then: Study, cells: pd.DataFrame, most: float) -> Iterator[Check]:
    """That throughput is lower than in an earlier study by the share `most`, or less.

    Raises:
        UsageError: the studies have none of these cells in common.
    """
    found = across(now, then)
    if len(found):
        found = found[found["of"].isin(cells.index) & (found["measure"] == THROUGHPUT)]
    if found.empty:
        raise UsageError(
            "gate: --against: the studies have no cell in common (workload, parameters, loop, arm, "
            "model, N)"
        )
    for row in found.to_dict("records"):
        figures = (row["ratio"], row["low"], row["high"], row["n"])
        ends = (row["low_90"], row["high_95"])
        yield _check(_name(row), "throughput over OLD", figures, ends, 1 - most, np.nan)


def _paired(name: str, what: str, values: Floats, least: float) -> Check:
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(values)
    ratio, low, high, n = (each[0] for each in ratio_medians(values))
    if not n:
        # Not open: a cell that always crashes would pass for ever.
        raise UsageError(
            f"gate: no valid runs for {what} of {name}. `scaling show RESULTS --details` lists the "
            "reasons"
        )
    ends = (float(lower(logs, 0.90)[0]), float(-lower(-logs, 0.95)[0]))
    figures = (float(ratio), float(low), float(high), int(n))
    return _check(name, what, figures, ends, least, float(scatter(logs)[0]))


def _check(
    name: str,
    what: str,
    figures: tuple[float, float, float, int],
    ends: tuple[float, float],
    least: float,
    scatter_of_logs: float,
) -> Check:
    limit, outcome = float(np.log(least)), "open"
    if figures[3] >= FEWEST_FOR_INTERVAL:
        outcome = "holds" if ends[0] > limit else "fails" if ends[1] < limit else "open"
    blocks = _blocks(float(np.log(figures[0])) - limit, scatter_of_logs, figures[3])
    known: Any = outcome
    return Check(name, what, *figures, least, known, blocks if outcome == "open" else None)


def _blocks(distance: float, scatter_of_logs: float, measured: int) -> int | None:
    """How many blocks would decide, as for words (`scaling.analysis.tables.words`); the fewest that
    can where too few were measured to say more.
    """
    if not distance or not np.isfinite(scatter_of_logs):
        return FEWEST_FOR_INTERVAL if measured < FEWEST_FOR_INTERVAL else None
    z = (Z_90 if distance > 0 else Z_95) + POWER_Z
    needed = max(
        FEWEST_FOR_INTERVAL, int(np.ceil(np.pi / 3 * (z * scatter_of_logs / distance) ** 2))
    )
    return needed if needed <= MOST_BLOCKS else None


def _name(row: Any) -> str:
    words = (row[each] for each in ("name", "loop", "arm", "model"))
    return f"{' · '.join(map(str, words))} · N = {row['workers']}"
