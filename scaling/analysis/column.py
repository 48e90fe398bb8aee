"""Declarations of columns: per-run measures, and facts about the run.

Everything that handles columns follows from these declarations: the frame, its units and
documentation, the tables and CSV files, and the exports. To add one, put a `Column` into the file
that it belongs to, or into a file of its own whose dict is then named in
`scaling.analysis.table.columns`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from operator import attrgetter
from typing import Any, Literal

import numpy as np

from scaling.analysis.arrays import Flags, Integers
from scaling.analysis.stacks import Readings, Stack, readings, stacks
from scaling.journal.record import ArmRecord, ProcessFacts, Record, RunLine, StudyLine, WorkerRecord

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
type Read = Callable[["Rows"], Any]  # a sequence as long as there are runs


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
        """Whether numpy holds its values."""
        return self.dtype in (COUNT, NUMBER, FLAG)


def where(needs: Needs, columns: Mapping[str, Column]) -> dict[str, Column]:
    """The same columns, blank where no run has what they are of."""
    return {name: replace(column, needs=needs) for name, column in columns.items()}


class Rows:
    """Some runs and their columns by name, each computed when it is first asked for.

    A column of numbers or flags is an array with a value for each of `runs`, another one a list.
    `ticks` are the runs' readings where their records no longer have them.
    """

    def __init__(
        self,
        runs: Sequence[RunLine],
        study: StudyLine,
        columns: Mapping[str, Column],
        ticks: Sequence[Readings | None] | None = None,
    ) -> None:
        self.runs = runs
        self.study = study
        self._columns = columns
        self._known: dict[str, Any] = {}
        self._readings = list(map(readings, self.records)) if ticks is None else ticks

    def __getitem__(self, name: str) -> Any:
        if name not in self._known:
            column = self._columns[name]
            values = self._values(column)
            self._known[name] = np.asarray(values, column.dtype) if column.is_array else values
        return self._known[name]

    def _values(self, column: Column) -> Any:
        if column.needs and not getattr(self, column.needs):
            # Most journals have no served run, and served runs have many columns.
            nothing: dict[str, Any] = {NUMBER: np.nan, COUNT: 0, OBJECT: {}}
            return [nothing[column.dtype]] * len(self.runs)
        if callable(column.read):
            return column.read(self)
        return list(map(attrgetter(column.read), self.runs))

    @cached_property
    def records(self) -> list[Record | None]:
        """The record of each run's child, or None."""
        return [run.record for run in self.runs]

    @cached_property
    def has_load(self) -> bool:
        """Whether any of the runs was loaded from outside."""
        return any(run.load is not None for run in self.runs)

    @cached_property
    def has_services(self) -> bool:
        """Whether any of them had a service beside it."""
        return any(run.services for run in self.runs)

    @cached_property
    def has_latencies(self) -> bool:
        """Whether operations of any of them were timed."""
        return self.has_load or self.any_worker_has("latency")

    @cached_property
    def workers(self) -> list[WorkerRecord]:
        """The workers of all runs, one run after the other."""
        return [each for record in self.records if record is not None for each in record.workers]

    def any_worker_has(self, name: str) -> bool:
        """Whether that field of any worker is neither None nor empty.

        Most journals have no figure of some kinds, and a look at each run takes longer than this.
        """
        return any(map(attrgetter(name), self.workers))

    @cached_property
    def stacks(self) -> list[Stack]:
        """The runs' ticks as arrays."""
        return list(stacks(self._readings))

    @cached_property
    def processes(self) -> list[list[ProcessFacts]]:
        """The reports of each run's processes (or sub-interpreters)."""
        return list(map(processes, self.runs))

    @cached_property
    def every_process(self) -> list[ProcessFacts]:
        """The processes of all runs, one run after the other."""
        return list(chain.from_iterable(self.processes))

    @cached_property
    def process_rows(self) -> Integers:
        """For each of these the place of its run."""
        counts = np.array(list(map(len, self.processes)), np.intp)
        return np.repeat(np.arange(len(self.runs)), counts)

    @cached_property
    def measured(self) -> Flags:
        """Flags of the runs that have figures, which alone can be judged."""
        measured = [
            run.outcome == "measured" and record is not None and record.outcome == "measured"
            for run, record in zip(self.runs, self.records, strict=True)
        ]
        has_figures: Flags = ~np.isnan(self["throughput_per_s"])
        return np.array(measured, np.bool_) & has_figures

    def where(self, at_fault: Flags) -> list[int]:
        """The places of the measured runs among those flagged."""
        found: list[int] = np.flatnonzero(at_fault & self.measured).tolist()
        return found

    def arm(self, row: int) -> ArmRecord | None:
        """The arm of a run; None if the study has no such arm: every run of it is then invalid."""
        return self.study.arms.get(self.runs[row].cell.arm)


def processes(run: RunLine) -> list[ProcessFacts]:
    """The report of each process (or sub-interpreter) of a measured run."""
    if run.record is None:
        return []
    of_workers = [each.process for each in run.record.workers if each.process is not None]
    return [run.record.process, *of_workers]
