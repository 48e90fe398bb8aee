"""Declarations of columns: per-run measures, and facts about the run.

Everything that handles columns follows from these declarations: the frame, its units and
documentation, the tables and CSV files, and the exports. To add one, put a `Column` into the file
that it belongs to, or into a file of its own whose dict is then named in
`scaling.analysis.table.columns`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from scaling.analysis.rows import Rows

WORD, COUNT, NUMBER, FLAG, OBJECT = "category", "int64", "float64", "bool", "object"

LAST = 1_000  # the place of a measure that states none

type Noise = Literal[
    "throughput",
    "cpu_s_per_op",
    "PSS",
    "RSS",
    "latency_p99_s",
    "latency_p95_s",
    "latency_p90_s",
    "latency_p50_s",
]
type Needs = Literal["has_load", "has_services", "has_latencies"]
type Read = Callable[[Rows], Any]  # a sequence as long as there are runs


@dataclass(frozen=True, slots=True)
class Shown:
    """The presentation of a measure: its heading for people, its name in CSV files.

    Both state the unit that tables use; `factor` converts to it. CSV files have their columns in
    the order of `place`.
    """

    heading: str
    name: str
    place: int = LAST
    factor: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column: how it is read from some runs, its dtype, unit and definition.

    `read` is a function, or a field of the run's line, such as `memory.rss_bytes`. `unit` is stated
    where it is more than the name says (`scaling.analysis.table.run_fields.unit_of`). `better` is
    whether more or less of it is better, empty where neither is. `noise` is the measure whose A/A
    spread applies to its ratios. With `shown`, tables have it. A column that is not `in_frame` only
    serves to judge runs. `needs` is a property of `Rows`: where it is False, no run has what the
    column is of.
    """

    read: Read | str
    definition: str
    dtype: str = NUMBER
    unit: str = ""
    better: Literal["more", "less", ""] = ""
    noise: Noise = "throughput"
    shown: Shown | None = None
    in_frame: bool = True
    needs: Needs | None = None

    @property
    def is_array(self) -> bool:
        """True if the values of the column are a numpy array."""
        return self.dtype in (COUNT, NUMBER, FLAG)

    def __call__(self, rows: Rows) -> Any:
        """A value for each run: an array of numbers or flags, else a list."""
        values = self._read(rows)
        return np.asarray(values, self.dtype) if self.is_array else values

    def _read(self, rows: Rows) -> Any:
        if self.needs and not getattr(rows, self.needs):
            # Most journals have no served run, and served runs have many columns.
            nothing: dict[str, Any] = {NUMBER: np.nan, COUNT: 0, OBJECT: {}}
            return np.full(len(rows.runs), nothing[self.dtype], self.dtype)
        if callable(self.read):
            return self.read(rows)
        return rows["fields"][self.read]  # of `scaling.analysis.table.columns`


def where(needs: Needs, columns: Mapping[str, Column]) -> dict[str, Column]:
    """The same columns, blank where no run has what they are of."""
    return {name: replace(column, needs=needs) for name, column in columns.items()}
