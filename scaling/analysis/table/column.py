"""What is declared of a column: a per-run measure, or a fact about the run.

Everything that handles columns follows from these declarations: the frame, its units and
documentation, the curves, tables and CSV files, the exports, and what `figure` looks up. To add
one, put a `Column` into the file that it belongs to, or into a file of its own whose dict is then
named in `scaling.analysis.table.columns`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from scaling.analysis.table.rows import Rows

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
type Read = Callable[["Rows"], Any]  # a sequence as long as there are runs


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """How the tables of curves show a measure: its heading for people, its name in CSV files.

    Both state the unit that tables use; `factor` converts to it. Columns stand in the order of
    `place`. A measure is shown where a section has a value of it, or `always`; `finite_only`
    leaves it out of sections whose runs have a window. A narrow terminal omits the `extra` ones.
    Those that are `swept` are also shown against a swept parameter.
    """

    heading: str
    name: str
    factor: float = 1.0
    place: int = LAST
    always: bool = False
    finite_only: bool = False
    extra: bool = False
    swept: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column: how it is read from some runs, its dtype, unit and definition.

    `unit` is empty for words, flags and pure numbers. `words` names the measure in a sentence;
    `better` is whether more or less of it is better, empty where neither is. `noise` is the measure
    whose A/A spread applies to its ratios. With `shown`, tables have it. A column that is not
    `in_frame` only serves to judge runs.
    """

    read: Read
    definition: str
    dtype: str = NUMBER
    unit: str = ""
    words: str = ""
    better: Literal["more", "less", ""] = ""
    noise: Noise = "throughput"
    shown: Shown | None = None
    in_frame: bool = True

    @property
    def is_array(self) -> bool:
        """Whether numpy holds its values."""
        return self.dtype in (COUNT, NUMBER, FLAG)


def field(path: str) -> Read:
    """Read a field of the run's line, such as `memory.rss_bytes`."""
    get = attrgetter(path)
    return lambda rows: list(map(get, rows.runs))


def of_served(columns: Mapping[str, Column]) -> dict[str, Column]:
    """The same columns of figures; where no run has a load they are blank without a look at each.

    Most journals have no served run, and served runs have many columns.
    """
    return {
        name: column if column.dtype == FLAG else replace(column, read=_unless_blank(column))
        for name, column in columns.items()
    }


def _unless_blank(column: Column) -> Read:
    def read(rows: "Rows") -> Any:
        if rows.has_load:
            return column.read(rows)
        runs = len(rows.runs)
        return [{}] * runs if column.dtype == OBJECT else np.full(runs, np.nan)

    return read
