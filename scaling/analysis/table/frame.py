"""Runs to a frame: columns in their dtypes, gathered some runs at a time."""

from collections.abc import Iterable, Sequence
from itertools import batched
from typing import Any, Self

import numpy as np
import pandas as pd

from scaling.analysis.table.column import OBJECT, WORD
from scaling.analysis.table.columns import COLUMNS
from scaling.analysis.table.marks import mark_between_runs, marked
from scaling.analysis.table.outliers import label_outliers
from scaling.analysis.table.rows import Rows
from scaling.analysis.validity.served import GeneratorKind, kind_of, unlike_generators
from scaling.journal.record import RunLine, StudyLine

# Enough for numpy to pay off, few enough to stay in a core's cache.
RUNS_AT_A_TIME = 512

VALIDITIES = ["valid", "suspect", "invalid"]


class _Codes(dict[Any, int]):
    """A number for each word, in the order in which they are first looked up."""

    def __missing__(self, word: Any) -> int:
        self[word] = code = len(self)
        return code


class FrameBuilder:
    """The columns of a frame while its runs are read.

    Numbers are kept as arrays and words as codes, so that a large journal needs little memory.
    """

    def __init__(self) -> None:
        self._values: dict[str, list[Any]] = {name: [] for name in COLUMNS}
        self._generators: list[GeneratorKind | None] = []
        self._codes = {name: _Codes() for name, column in COLUMNS.items() if column.dtype == WORD}

    def add(self, rows: Rows) -> None:
        """Append some runs."""
        self._generators += [kind_of(run.load) for run in rows.runs]
        for name, column in COLUMNS.items():
            if column.dtype == WORD:
                self._values[name] += map(self._codes[name].__getitem__, rows[name])
            elif column.is_array:
                self._values[name].append(rows[name])
            else:
                self._values[name] += rows[name]

    def extend(self, later: Self) -> None:
        """Append all runs of another builder."""
        self._generators += later._generators
        for name, values in later._values.items():
            if name in self._codes:
                codes = [self._codes[name][word] for word in later._codes[name]]
                self._values[name] += map(codes.__getitem__, values)
            else:
                self._values[name] += values

    def frame(self) -> pd.DataFrame:
        """All runs that were added, marked where one differs from others of its cell."""
        frame = pd.DataFrame({name: self._column(name) for name in COLUMNS})
        frame = mark_between_runs(marked(frame, unlike_generators(self._generators)))
        return frame.assign(outlier=label_outliers(frame))

    def _column(self, name: str) -> Any:
        values, column = self._values[name], COLUMNS[name]
        if name in self._codes:
            return _categorical(name, list(self._codes[name]), values)
        if column.is_array:
            return np.concatenate(values) if values else np.array([], column.dtype)
        if column.dtype == OBJECT:
            return pd.Series(values, dtype=object)
        if column.dtype == "boolean":
            return pd.array(values, dtype="boolean")
        times = pd.to_datetime(values, utc=True, errors="coerce", format="ISO8601")
        return times.astype(column.dtype)


def _categorical(name: str, words: list[Any], values: list[int]) -> Any:
    """The words at these places, as `pd.Categorical` has them, in a tenth of the time it takes."""
    known = VALIDITIES if name == "validity" else sorted(word for word in words if word is not None)
    codes = {word: code for code, word in enumerate(known)}
    coded = np.array([codes.get(word, -1) for word in words], np.int64)
    categories = pd.Index(known) if known else pd.Index([], dtype="str")  # text, also in Parquet
    return pd.Categorical.from_codes(coded[np.asarray(values, np.intp)], categories)


def live_frame(runs: Iterable[RunLine], study: StudyLine) -> pd.DataFrame:
    """The frame of a study that is still being measured, of which some runs at a time are kept.

    `scaling.load` would give the same for the study's journal at this moment.
    """
    built = FrameBuilder()
    for some in batched(runs, RUNS_AT_A_TIME):
        built.add(Rows(some, study))
    return built.frame()


def joined(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Frames one below the other; `concat` makes objects of categories that differ."""
    whole = pd.concat(frames, ignore_index=True)
    whole["validity"] = pd.Categorical(whole["validity"], VALIDITIES)
    return whole.astype({name: column.dtype for name, column in COLUMNS.items()})
