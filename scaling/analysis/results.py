"""The results of one study, computed once: everything that its outputs show.

Tables, CSV files, Markdown, plots and page show the same sections, comparisons and warnings. Each
is computed on first access and kept, so nothing is computed twice and no two outputs differ.
"""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Self

import pandas as pd

from scaling.analysis.attribution.cells import Attribution, attributions
from scaling.analysis.comparison.compare import Compared, compare
from scaling.analysis.comparison.paired import Paired, pair
from scaling.analysis.controls import ControlOutcome, Soundness, outcomes, soundness_of
from scaling.analysis.curves.sections import RunIssue, Section, run_issues, sections
from scaling.analysis.curves.sweeps import Sweep, sweeps
from scaling.analysis.served.capacity import Capacities, capacities
from scaling.analysis.served.course import Course, courses
from scaling.analysis.served.latency_ratios import P99, LatencyRatio, latency_ratios
from scaling.analysis.served.ship import AppAnswer, app_answer, of_one_server
from scaling.analysis.statistics.drift import Drift, drift
from scaling.analysis.statistics.noise import NoiseFloor, noise_floor
from scaling.analysis.statistics.pending import combined
from scaling.analysis.statistics.verdict import RatioVerdict
from scaling.analysis.table.groups import CURVE, Key
from scaling.analysis.table.load import Journal
from scaling.journal.record import CeilingLine, StudyLine
from scaling.study.objective import Objective, parse_objective


class _Judged(NamedTuple):
    compared: list[Compared]
    capacities: Capacities
    latency_ratios: list[LatencyRatio]


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
    def commands(self) -> set[Key]:
        """The curves whose workers belong to a command."""
        keys = self.frame.loc[self.frame["outside"], list(CURVE)].drop_duplicates()
        return {Key(*map(str, each)) for each in keys.itertuples(index=False)}

    @cached_property
    def sweeps(self) -> list[Sweep]:
        """Sections that differ in one parameter, compared across its values."""
        return sweeps(self.sections, self.study)

    @cached_property
    def floor(self) -> NoiseFloor:
        """The noise floor, from the A/A pairs."""
        return noise_floor(self.frame, self.study)

    @cached_property
    def paired(self) -> list[Paired]:
        """Runs by block and configuration, for each section and loop."""
        return pair(self.frame, self.study, self.sections, self.floor)

    @cached_property
    def _judged(self) -> _Judged:
        """All verdicts: each family of hypotheses is corrected over the whole study."""
        return combined(
            _Judged,
            compared=compare(self.paired),
            capacities=capacities(self.frame, self.objectives, self.floor),
            latency_ratios=latency_ratios(self.frame, self.floor, primary=not self.objectives),
        ).judged()

    @property
    def judged(self) -> list[Compared]:
        """Every ratio that has a verdict, section by section: gains and comparisons."""
        return self._judged.compared

    @property
    def compared(self) -> list[Compared]:
        """Those of `judged` that compare arms, models or loops."""
        return [each for each in self.judged if each.compares]

    @cached_property
    def gains(self) -> dict[tuple[Key, int], RatioVerdict]:
        """Throughput of N workers over one, with its verdict, by curve and N."""
        return {
            (gain.key, gain.workers): gain.throughput for each in self.judged for gain in each.gains
        }

    @cached_property
    def attributions(self) -> list[Attribution]:
        """Where the time goes at each N above 1, cell by cell; empty without readings of it."""
        return attributions(self.paired)

    @property
    def objectives(self) -> list[Objective]:
        """The latency objectives that the study states."""
        return [parse_objective(text) for text in self.study.study.get("slo") or ()]

    @property
    def capacities(self) -> Capacities:
        """Capacity at each objective that the study states; empty without any."""
        return self._judged.capacities

    @property
    def latency_ratios(self) -> list[LatencyRatio]:
        """P99 of threads over that of processes at each rate of an open loop."""
        return self._judged.latency_ratios

    @cached_property
    def courses(self) -> dict[tuple[Key, int], Course]:
        """The run with the longest P99 of each cell in an open loop, over time, by key and N."""
        return courses(self.frame, self.path) if self.path is not None else {}

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
        of = self if frame is self.frame else StudyResults(frame, self.study)

        def latencies(column: str) -> list[LatencyRatio]:
            if column == P99:
                return of.latency_ratios
            return latency_ratios(frame, of.floor, primary=False, column=column).judged()

        return app_answer(of.judged, latencies, of.capacities, frame, self.study)

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
