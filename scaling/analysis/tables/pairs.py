"""The pairs of cells whose ratios are taken: a row per candidate of each ratio."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from scaling.analysis.tables.cells import NONE
from scaling.analysis.tables.values import Values
from scaling.study.questions import CPU, MEMORY, OVER_PROCESSES, P99, THROUGHPUT, AskedRatio

BUILD, SHARING = "build", "sharing"  # the factors of threads over processes
EQUAL_CELLS = "equal cells"
NOISE = (THROUGHPUT, CPU, MEMORY, P99)  # what A/A pairs are compared by


class Pair(NamedTuple):
    """One candidate of the ratio that is number `asked`; `of`, `over` and the rest are places.

    Blocks count in which each of the cells `along` has a value, too; the ratio of the two cells
    `apart_from` is divided out. `step` is what changes in a step of the ladder.
    """

    asked: int
    question: str
    measure: str
    step: str
    headline: bool
    of: int
    over: int
    along: tuple[int, ...] = ()
    apart_from: tuple[int, ...] = ()


def pairs_of(asked: Sequence[AskedRatio], values: Values) -> pd.DataFrame:
    """A row per candidate of each ratio that is asked for, and one per measure of each A/A pair:
    its second run over the first.
    """
    place, table = values.place, values.table
    found = []
    for at, each in enumerate(asked):
        about = (at, each.question, each.measure, each.name, each.headline)
        along = tuple(place[cell] for cell in each.along)
        found += [
            Pair(*about, place[each.of], place[over], along)
            for over in each.among
            if each.of in place and over in place
        ]
    twins = table.loc[table["twin"], "cell"].items()
    equal = [(name, int(at), place[cell]) for at, cell in twins if cell in place for name in NOISE]
    for at, (measure, of, over) in enumerate(equal, len(asked)):
        found.append(Pair(at, EQUAL_CELLS, measure, "", False, of, over))
    return _table(found)


def is_main(ratios: pd.DataFrame) -> "pd.Series[bool]":
    """Flags of the ratios whose question and cell have a headline ratio."""
    return ratios.groupby(["question", "of"])["headline"].transform("any")


def factors(ratios: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    """The two factors of each headline ratio of N threads over N processes, as pairs.

        T(threads, N) / T(processes, N)  =  T(threads, 1) / T(processes, 1)     what the build costs
                                         ×  gain of threads / gain of processes

    What N processes lose, the machine takes from both, so the second factor is what sharing one
    process costs. In every block that has all four runs they multiply to the ratio.
    """
    is_asked = (ratios["question"] == OVER_PROCESSES) & ratios["measure"].isin((THROUGHPUT, CPU))
    found: list[Pair] = []
    rows: list[dict[Any, Any]] = ratios[is_asked & is_main(ratios)].to_dict("records")
    for row in rows:
        of, over = row["of"], row["over"]
        one, other = cells["one"].iloc[of], cells["one"].iloc[over]
        if NONE in (one, other) or one == of or cells["rate"].iloc[of] > 0:
            continue
        about = (row["measure"], "", False)
        along = (of, over, one, other)
        found.append(Pair(len(found), BUILD, *about, one, other, along))
        found.append(Pair(len(found), SHARING, *about, of, over, along, (one, other)))
    return _table(found)


def _table(pairs: Sequence[Pair]) -> pd.DataFrame:
    found = pd.DataFrame(pairs, columns=list(Pair.__annotations__))
    return found.astype({"asked": np.int64, "of": np.int64, "over": np.int64})
