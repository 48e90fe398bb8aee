"""One study as five tables: `cells`, `runs`, `values`, `estimates`, `ratios`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from scaling.analysis.arrays import Floats, Integers
from scaling.analysis.column import Shown
from scaling.analysis.extent import incomplete
from scaling.analysis.statistics.intervals import Estimates, geometric_means, means, medians
from scaling.analysis.table.load import Journal, read_journal
from scaling.analysis.tables.capacity import capacities, objectives_of
from scaling.analysis.tables.cells import NONE, Cells, cells_of
from scaling.analysis.tables.controls import Soundness, soundness
from scaling.analysis.tables.derived import DERIVED
from scaling.analysis.tables.ratios import ratios
from scaling.analysis.tables.values import Estimator, Values
from scaling.journal.check_file import read_check
from scaling.journal.reading import read_lines
from scaling.journal.record import CeilingLine, RunLine, StudyLine
from scaling.study.kinds import Objective
from scaling.study.presets import MARGIN

ESTIMATORS = {"median": medians, "mean": means, "geometric mean": geometric_means}


@dataclass(frozen=True, eq=False)
class Study:
    """The runs of one study and its first line, and the tables that follow from them.

    `ceilings` are the most that the study's services could deliver, `skipped` says what was skipped
    when the journal was read, and `path` is its file, if it is in one.
    """

    line: StudyLine
    runs: pd.DataFrame
    ceilings: Sequence[CeilingLine] = ()
    skipped: Sequence[str] = ()
    path: Path | None = None

    @classmethod
    def of(cls, journal: Journal) -> Self:
        """The study of a journal that was read."""
        return cls(journal.study, journal.frame, journal.ceilings, journal.notes, path=journal.path)

    @property
    def folder(self) -> Path | None:
        """The folder of its journal, None where that is in no file."""
        return self.path.parent if self.path else None

    @cached_property
    def incomplete(self) -> str:
        """`incomplete: 14 of 18 runs`; empty where nothing is missing."""
        return incomplete(self.runs, self.line, self.skipped)

    @cached_property
    def _cells(self) -> Cells:
        check = read_check(self.folder)
        return cells_of(self.runs, self.line, check.wrong_models if check else ())

    @property
    def cells(self) -> pd.DataFrame:
        """A row per cell (`scaling.analysis.tables.cells.Cells`)."""
        return self._cells.table

    @cached_property
    def measures(self) -> Values:
        """Every measure as an array of blocks × cells."""
        objectives = [each.text for each in self.objectives]
        return Values(self.runs, self._cells, DERIVED | capacities(self.line), objectives)

    @cached_property
    def values(self) -> pd.DataFrame:
        """A row per cell, block and measure (`scaling.analysis.tables.values.Values.long`)."""
        return self.measures.long()

    @cached_property
    def estimates(self) -> pd.DataFrame:
        """A row per cell and measure that has a value.

        Columns: `measure`; `cell`, its place; `point`, `low`, `high` (95 %; the range below six
        blocks), `n`; `bound`, 1 where the median is a lower bound, -1 an upper one; all columns of
        `cells`.
        """
        names = self.measures.names
        parts = [self._estimated(name) for name in names]
        measure = pd.Index(names).repeat([len(part["n"]) for part in parts])
        figures = {each: np.concatenate([part[each] for part in parts]) for each in parts[0]}
        found = pd.DataFrame({"measure": measure, **figures})
        return found.join(self.cells.drop(columns="cell"), on="cell")

    def estimate(self, cell: int, measure: str) -> Mapping[Any, Any] | None:
        """The figures of a measure of one cell, by its place: a row of `estimates`."""
        if measure not in self._looked_up:
            rows = pd.DataFrame(self._estimated(measure)).to_dict("records")
            self._looked_up[measure] = {row["cell"]: row for row in rows}
        return self._looked_up[measure].get(cell)

    @cached_property
    def _looked_up(self) -> dict[str, dict[int, Mapping[Any, Any]]]:
        """The rows of the measures that were asked for, by place."""
        return {}

    def shown(self, measure: str) -> Shown:
        """The heading of a measure, its name in CSV files, and its unit."""
        return self.measures.shown(measure)

    def _estimated(self, name: str) -> dict[str, Floats | Integers]:
        """The figures of a measure by name, each of shape (cells that have a value,)."""
        measure = self.measures[name]
        derived = self.measures.derived.get(name)
        estimator: Estimator = derived.estimator if derived else "median"
        found: Estimates = ESTIMATORS[estimator](measure.value)
        known = np.flatnonzero(found.n)
        figures = {"cell": np.arange(len(found.n)), **found._asdict(), "bound": measure.side}
        return {each: values[known] for each, values in figures.items()}

    @cached_property
    def ratios(self) -> pd.DataFrame:
        """A row per question, measure and pair of cells (`scaling.analysis.tables.ratios`)."""
        return ratios(self.measures, self.margin)

    @property
    def margin(self) -> float:
        """The smallest difference worth a word, as a share; latencies have one of their own."""
        return float(self.line.study.get("margin") or MARGIN)

    @property
    def objectives(self) -> list[Objective]:
        """The latency objectives that the study states."""
        return objectives_of(self.line)

    @cached_property
    def soundness(self) -> Soundness:
        """The outcome of the controls: can the figures be trusted?"""
        return soundness(self.ratios, self.line)


def counting_lines(study: Study, workload: str) -> Iterator[RunLine]:
    """The runs of a workload that count, as the study's journal has them."""
    places = study.measures.places
    _, column = np.nonzero(places != NONE)
    counts = study.runs[["workload", "block", "twin", "attempt"]].iloc[places[places != NONE]]
    counts = counts.assign(cell=study.cells["cell"].array[column])
    ours = counts.loc[counts["workload"] == workload, ["block", "cell", "twin", "attempt"]]
    keys = set(ours.itertuples(index=False, name=None))
    for line in read_lines(study.path, lambda _: None) if study.path else ():
        if isinstance(line, RunLine) and (*line.key, line.attempt) in keys:
            yield line


def read(folder: Path) -> Study:
    """The study in a folder.

    Raises:
        UsageError: no journal is there, an empty one, one without runs, or one of a newer version.
    """
    return Study.of(read_journal(folder))
