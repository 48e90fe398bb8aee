"""The results of one study, computed once: everything that its outputs show.

Tables, CSV files, Markdown, plots and page show the same sections, comparisons and warnings. Each
is computed on first access and kept, so nothing is computed twice and no two outputs differ.
"""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd

from scaling.analysis.arrays import Floats
from scaling.analysis.attribution.cells import Attribution, attributions
from scaling.analysis.blocks import Blocks, blocks_of
from scaling.analysis.comparison.compare import Compared, compare
from scaling.analysis.controls import ControlOutcome, Soundness, outcomes, soundness_of
from scaling.analysis.curves.curve import Point
from scaling.analysis.curves.sections import RunIssue, Section, run_issues, sections
from scaling.analysis.curves.sweeps import Sweep, sweeps
from scaling.analysis.ratios import Ratios, ratios
from scaling.analysis.served.capacity import Capacity, capacities, with_capacities
from scaling.analysis.served.course import Course, courses
from scaling.analysis.served.ship import AppAnswer, app_answer, of_one_server
from scaling.analysis.statistics.drift import Drift, drift
from scaling.analysis.statistics.noise import NoiseFloor
from scaling.analysis.table.groups import CURVE, curve_cell, fell_behind
from scaling.analysis.table.labels import labels, short_labels
from scaling.analysis.table.load import Journal
from scaling.journal.record import CeilingLine, Cell, StudyLine
from scaling.study.caveats import caveats
from scaling.study.objective import Objective, parse_objective


class StudyResults:
    """One study's runs (a frame of `scaling.load`), its first line, and what follows from them.

    `ceilings` are the most that the study's services could deliver, `notes` say what was skipped
    when the journal was read; without its `path` there are no `courses`. A frame of several studies
    has sections, sweeps and run issues; every other property raises `UsageError` for it.
    """

    def __init__(
        self,
        frame: pd.DataFrame,
        study: StudyLine,
        ceilings: Sequence[CeilingLine] = (),
        notes: Sequence[str] = (),
        path: Path | None = None,
    ) -> None:
        self.frame = frame
        self.study = study
        self.ceilings = ceilings
        self.notes = notes
        self.path = path

    @classmethod
    def of(cls, journal: Journal) -> Self:
        """The results of a journal that was read."""
        return cls(journal.frame, journal.study, journal.ceilings, journal.notes, journal.path)

    @cached_property
    def sections(self) -> list[Section]:
        """Curves by workload, parameters and sizing, in the order in which they are shown."""
        return sections(self.frame, self.study)

    @cached_property
    def points(self) -> dict[Cell, Point]:
        """The point of each cell on its curve."""
        return {
            curve.key.but(workers=point.workers): point
            for section in self.sections
            for curve in section.curves
            for point in curve.points
        }

    @cached_property
    def names(self) -> dict[Cell, str]:
        """What messages call each cell: `echo · weak · asyncio · 3.14t · threads · N = 2`; those
        that have a capacity without a rate, too.
        """
        rated = dict.fromkeys(each.cell for each in self.capacities)
        label = labels(self.frame) | short_labels(
            [(each.workload, each.parameters) for each in rated], simulated=self.study.simulated
        )
        return {
            each: f"{label[each.workload, each.parameters]} · {each.sizing} · {each.loop} · "
            f"{each.arm} · {each.model} · N = {each.workers}"
            for each in (*self.blocks.cells, *rated)
        }

    @cached_property
    def commands(self) -> set[Cell]:
        """The curves whose workers belong to a command."""
        keys = self.frame.loc[self.frame["outside"], list(CURVE[1:])].drop_duplicates()
        return {curve_cell(*each) for each in keys.itertuples(index=False, name=None)}

    @cached_property
    def sweeps(self) -> list[Sweep]:
        """Sections that differ in one parameter, compared across its values."""
        return sweeps(self.sections, self.study)

    @property
    def floor(self) -> NoiseFloor:
        """The noise floor, from the A/A pairs."""
        return self._runs.floor

    @property
    def caveats(self) -> list[str]:
        """What every output begins with: those of the study, and verdicts that are withheld."""
        return [*caveats(self.study), *self.floor.withheld]

    @cached_property
    def blocks(self) -> Blocks:
        """Runs by block and cell, with the capacities that the study states an objective for."""
        return with_capacities(self._runs, self.capacities)

    @cached_property
    def _runs(self) -> Blocks:
        return blocks_of(self.frame, self.study)

    @cached_property
    def behind(self) -> Floats:
        """1 for each run whose server fell behind, else 0; shape (runs,)."""
        return fell_behind(self.frame).astype(np.float64)

    @cached_property
    def ratios(self) -> Ratios:
        """Every ratio that has a verdict; each family is corrected over the whole study."""
        return ratios(self.blocks)

    @cached_property
    def judged(self) -> list[Compared]:
        """The cells of each section with their ratios: gains and comparisons."""
        return compare(self.sections, self.blocks, self.ratios)

    @property
    def compared(self) -> list[Compared]:
        """Those of `judged` that compare arms, models or loops."""
        return [each for each in self.judged if each.compares]

    @cached_property
    def attributions(self) -> list[Attribution]:
        """Where the time goes at each N above 1, cell by cell; empty without readings of it."""
        return attributions(each for each in self.judged if not each.is_across_loops)

    @property
    def objectives(self) -> list[Objective]:
        """The latency objectives that the study states."""
        return [parse_objective(text) for text in self.study.study.get("slo") or ()]

    @cached_property
    def capacities(self) -> list[Capacity]:
        """Capacity at each objective that the study states; none without any."""
        return capacities(self._runs, self.objectives)

    @cached_property
    def courses(self) -> dict[Cell, Course]:
        """The run with the longest P99 of each cell in an open loop, over time."""
        return courses(self.blocks, self.path) if self.path is not None else {}

    @property
    def is_of_remedies(self) -> bool:
        """Whether the study is one of `scaling remedies`, which asks what each setting brings."""
        return list(self.study.study.get("primary") or ()) == ["setting"]

    @cached_property
    def application(self) -> AppAnswer | None:
        """What a study of `scaling app` says of the application; None for any other study."""
        if "application" not in self.study.study or self.is_of_remedies:
            return None
        frame = of_one_server(self.frame)
        own = self if frame is self.frame else StudyResults(frame, self.study)
        return app_answer(own.blocks, own.ratios, own.judged, own.capacities)

    @cached_property
    def outcomes(self) -> list[ControlOutcome]:
        """Every control at every N at which it can hold or fail."""
        return list(outcomes(self.frame, self.study))

    @cached_property
    def soundness(self) -> Soundness:
        """Whether all controls hold together, and the warning if not."""
        return soundness_of(self.outcomes, self.study)

    @cached_property
    def drift(self) -> Drift:
        """Whether the machine became faster or slower during the study."""
        return drift(self.frame)

    @cached_property
    def run_issues(self) -> list[RunIssue]:
        """Runs that are suspect or invalid."""
        return run_issues(self.frame)
