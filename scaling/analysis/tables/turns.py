"""Whether the two cells of a ratio were measured in turn, and why not."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from scaling.analysis.tables.cells import NONE
from scaling.analysis.tables.values import Values
from scaling.study.questions import THROUGHPUT

OTHER_N = "they have another number of workers"
OTHER_GROUP = "one group had no room for both"
OTHER_STUDY = "they are of two studies"
NO_TURNS = "each was measured after the other"


def why_apart(values: Values, of: Iterable[int], over: Iterable[int]) -> list[str]:
    """For each pair of cells, by their places, why they were not in turn; empty where they were.

    They were where it is so in every block in which both are valid.
    """
    valid = np.isfinite(values[THROUGHPUT].value)
    group = np.where(valid, values.placed(values.runs["group"]), np.nan)
    alone = _reasons_alone(values)
    workers = values.table["workers"].to_numpy()

    def reason(one: int, other: int) -> str:
        if workers[one] != workers[other]:
            return OTHER_N
        both = valid[:, one] & valid[:, other]
        ours, theirs = group[both, one], group[both, other]
        if both.any() and (ours == theirs).all():
            return ""
        if known := alone.get(one, set()) | alone.get(other, set()):
            return min(known)
        return OTHER_GROUP if np.isfinite(ours + theirs).any() else NO_TURNS

    return [reason(*pair) for pair in zip(of, over, strict=True)]


def _reasons_alone(values: Values) -> dict[int, set[str]]:
    """Reasons why valid runs of cells took turns with no other run, where these are known."""
    alone = values.runs["alone"].astype(object).to_numpy()
    block, cell = np.nonzero(values.places != NONE)
    known = pd.Series(alone[values.places[block, cell]], index=cell).dropna()
    return {int(str(at)): set(texts) for at, texts in known.groupby(level=0)}
