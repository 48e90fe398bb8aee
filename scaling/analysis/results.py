"""The results of one study, computed once: everything that its outputs show.

Tables, CSV files, Markdown, plots and page show the same sections, comparisons and warnings. Each
is computed on first access and kept, so nothing is computed twice and no two outputs differ.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd

from scaling.analysis.blocks import Blocks, blocks_of
from scaling.analysis.comparison import Compared, compare
from scaling.analysis.curves import Point
from scaling.analysis.losses import Attribution, attributions
from scaling.analysis.ratios import Ratios, ratios
from scaling.analysis.sections import RunIssue, Section, Sweep, run_issues, sections, sweeps
from scaling.analysis.served.capacity import Capacity, capacities, with_capacities
from scaling.analysis.served.ship import AppAnswer, app_answer
from scaling.analysis.soundness import ControlOutcome, Soundness, outcomes, soundness_of
from scaling.analysis.statistics.drift import Drift, drift
from scaling.analysis.statistics.noise import NoiseFloor
from scaling.analysis.table.groups import CURVE, curve_cell, labels, short_labels
from scaling.analysis.table.load import Journal
from scaling.base.formats import plural
from scaling.builds.arms import settings_of
from scaling.journal.beside import CHECK_FILE
from scaling.journal.record import CeilingLine, Cell, StudyLine
from scaling.study.kinds import Objective, parse_objective
from scaling.study.presets import FAILING_BLOCKS
from scaling.study.questions import THROUGHPUT
from scaling.study.settle import caveats


@dataclass(eq=False, repr=False)
class StudyResults:
    """One study's runs (a frame of `scaling.load`), its first line, and what follows from them.

    `ceilings` are the most that the study's services could deliver, `notes` say what was skipped
    when the journal at `path` was read. A frame of several studies has sections, sweeps and run
    issues; every other property raises `UsageError` for it.
    """

    frame: pd.DataFrame
    study: StudyLine
    ceilings: Sequence[CeilingLine] = ()
    notes: Sequence[str] = ()
    path: Path | None = None

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
        """What every output begins with: those of the study, verdicts that are withheld, and
        settings that must not help and do.
        """
        return [*caveats(self.study), *self.floor.withheld, *self._helping_controls]

    @property
    def _helping_controls(self) -> Iterator[str]:
        for each in self.ratios.where("setting", measure=THROUGHPUT):
            added = settings_of(each.of.arm)[-1:]  # the question leaves out the last one
            if each.verdict.side > 0 and any(setting.control for setting in added):
                yield (
                    f"In doubt: {each.of.arm} is a control that must not help, and is faster than "
                    f"{each.over.arm} at N = {each.of.workers} ({each}). Run more blocks on a "
                    "quieter machine"
                )

    @cached_property
    def blocks(self) -> Blocks:
        """Runs by block and cell, with the capacities that the study states an objective for."""
        return with_capacities(self._runs, self.capacities)

    @cached_property
    def _runs(self) -> Blocks:
        check = CHECK_FILE.beside(self.path)
        wrong = check.wrong_models if check else ()
        return replace(blocks_of(self.frame, self.study), wrong_models=wrong)

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

    @property
    def is_of_settings(self) -> bool:
        """Whether its only primary question is what settings bring, as in the study `remedies`."""
        return list(self.study.study.get("primary") or ()) == ["setting"]

    @property
    def is_of_application(self) -> bool:
        """Whether the study is one of `scaling app`, which asks how to ship a program."""
        return "application" in self.study.study and not self.is_of_settings

    @cached_property
    def application(self) -> AppAnswer | None:
        """What a study of `scaling app` says of the application; None for any other study."""
        if not self.is_of_application:
            return None
        return app_answer(self.blocks, self.ratios, self.judged, self.capacities)

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


# ------------------------------------------------------------------------------------------- extent
# How much was measured for a study, when, and what of it is missing.

MINUTE_S = 60.0
MEASURED = "measured"  # the outcome of a run that did not fail


@dataclass(frozen=True, slots=True)
class Extent:
    """What a journal holds, with A/A duplicates, invalid runs and repeated ones included.

    `begun` and `ended` are instants in UTC, None if unknown. `minutes` is the sum of what the runs
    took; a night between two halves of a study is not in it.
    """

    begun: str | None
    ended: str | None
    blocks: int
    runs: int
    invalid: int
    minutes: float

    @property
    def date(self) -> str | None:
        """The day on which it was begun, such as `2026-11-21`."""
        return self.begun[:10] if self.begun else None


def extent(of: Journal | StudyResults) -> Extent:
    """The extent of a study."""
    frame = of.frame
    took_s = frame["elapsed_s"].to_numpy(np.float64)
    ends = frame["at"] + pd.to_timedelta(frame["elapsed_s"], unit="s")
    last = ends.max()
    return Extent(
        begun=of.study.started_at,
        ended=None if pd.isna(last) else f"{last:%Y-%m-%dT%H:%M:%SZ}",
        blocks=int(frame["block"].nunique()),
        runs=len(frame),
        invalid=int((~frame["valid"]).sum()),
        minutes=float(np.nansum(took_s)) / MINUTE_S,
    )


def incomplete(frame: pd.DataFrame, study: StudyLine, skipped: Collection[str] = ()) -> str:
    """`incomplete: 14 of 18 runs, 1 line cannot be read`; empty where nothing is missing.

    A run that was made again is one run. `skipped` are the notes on lines that cannot be read. A
    journal that does not say how many runs a block has is taken to have one whole block.
    """
    places = ["block", "position"]
    runs = frame[[*places, "workload", "outcome"]].drop_duplicates(places)
    blocks = max(study.blocks or 0, int(runs["block"].max()) + 1)
    in_a_block = study.runs_per_block or int(runs["position"].max()) + 1
    planned = blocks * in_a_block - _given_up(runs, blocks)
    if len(runs) >= planned and not skipped:
        return ""
    lost = f", {plural(len(skipped), 'line')} cannot be read" if skipped else ""
    return f"incomplete: {len(runs):,} of {plural(planned, 'run')}{lost}"


def _given_up(runs: pd.DataFrame, blocks: int) -> int:
    """How many of the planned runs are not to be made: those of workloads that always fail."""
    count = 0
    for _, own in runs.groupby("workload", observed=True):
        in_a_block = own.groupby("block").size()
        if len(in_a_block) >= FAILING_BLOCKS and not (own["outcome"] == MEASURED).any():
            count += blocks * int(in_a_block.max()) - len(own)
    return count
