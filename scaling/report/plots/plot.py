"""What a plot is, and what it is about: how it is drawn, when there is something to draw, where
the page shows it, and the section of the study that it shows.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from matplotlib.lines import Line2D

from scaling.analysis.comparison import Compared
from scaling.analysis.curves import Curve
from scaling.analysis.losses import Attribution
from scaling.analysis.results import StudyResults
from scaling.analysis.sections import Section
from scaling.analysis.statistics.estimate import Estimate, bounds_kind
from scaling.base import formats
from scaling.base.vocabulary import MODELS, SIZINGS
from scaling.builds.runtimes import OWN_LOOP
from scaling.journal.record import CeilingLine
from scaling.report.plots.borders import regions
from scaling.report.plots.caption import caption
from scaling.report.plots.sheet import PANEL_IN, Layout, Sheet, key_entries, new_sheet
from scaling.report.plots.style import arm_colours
from scaling.report.tables.grid import Grid, PagePart
from scaling.report.tables.measures import Measure, measures, values_grid
from scaling.report.tables.rates import Rated, free_running

# ------------------------------------------------------------------------------------------ subject
# What a plot is about, and what all plots of it have in common: one section of the study, or one
# served workload at all of its rates.

MOST_CURVES = 6  # in one panel, that can still be distinguished
MOST_COLUMNS = 3  # panels side by side that a README's width still shows well


@dataclass(frozen=True)
class Subject:
    """A section of the results: curves by loop, colours by arm, borders by machine.

    `ceilings` are of the services that its workload talks to; `load` says how a served workload was
    loaded. `rated` is the same workload in an open loop, if it was measured there, too.
    """

    section: Section
    results: StudyResults
    ceilings: tuple[CeilingLine, ...] = ()
    load: tuple[str, ...] = ()
    rated: Rated | None = None

    @cached_property
    def comparisons(self) -> list[Compared]:
        """Those of the section, one for each loop that has any; none at a rate of an open loop."""
        own = (each for each in free_running(self.results) if each.section is self.section)
        return [each for each in own if each.compares and not each.is_across_loops]

    @property
    def attributions(self) -> list[Attribution]:
        """Where the time of its cells goes."""
        return [each for each in self.results.attributions if each.runs.section is self.section]

    @cached_property
    def colours(self) -> dict[str, str]:
        """The colour of each arm."""
        drawn = {curve.key.arm for curve in self.section.curves}
        known = self.results.study.arms
        arms = [*(arm for arm in known if arm in drawn), *sorted(drawn - set(known))]
        return arm_colours(arms)

    @cached_property
    def regions(self) -> dict[str, float]:
        """The regions of the machine that its curves reach, with where each begins."""
        return regions(self.section.curves, self.results.study.machine)

    @property
    def loops(self) -> list[str]:
        """The loops that have a panel, in order.

        Other runtimes have no loop to choose: where there are loops, they stand beside each.
        """
        found = dict.fromkeys(curve.key.loop for curve in self.section.curves)
        return [loop for loop in found if loop != OWN_LOOP] or list(found)

    def layout(self, height_in: float = PANEL_IN) -> Layout:
        """A panel for each loop, as many in a row as a README's width shows well; where its curves
        are too many for that, a row for each loop and a column for each model.
        """
        loops = len(self.loops)
        if self.is_crowded:
            return Layout(loops * len(self.models), len(self.models), height_in)
        return Layout(loops, min(loops, MOST_COLUMNS), height_in)

    @property
    def is_crowded(self) -> bool:
        """Whether a loop's curves are too many for a panel, and a panel for each model helps."""
        models = {curve.key.model for curve in self.section.curves}
        return len(models) > 1 and max(len(self.on(loop)) for loop in self.loops) > MOST_CURVES

    @property
    def models(self) -> list[str]:
        """The models that were run, in order."""
        found = {curve.key.model for curve in self.section.curves}
        return [model for model in MODELS if model in found] + sorted(found - set(MODELS))

    def on(self, loop: str, model: str | None = None) -> list[Curve]:
        """The curves of a loop and of other runtimes, of one model if one is named."""
        curves = [curve for curve in self.section.curves if curve.key.loop in (loop, OWN_LOOP)]
        return [curve for curve in curves if model in (None, curve.key.model)]

    def has(self, what: str) -> bool:
        """Whether any point of any curve has that estimate."""
        return any(p.estimate(what).n for curve in self.section.curves for p in curve.points)

    def noise(self, what: str) -> float:
        """The noise floor of an estimate of the section; NaN without A/A pairs.

        In a plot against a parameter it is the largest of all its values.
        """
        variants = {(curve.key.workload, curve.key.parameters) for curve in self.section.curves}
        floor = self.results.floor
        return max(floor.of(workload, what, each) for workload, each in variants)

    def caption(self, *first: str) -> str:
        """The small print; `first` comes before how a served workload was loaded."""
        load = (*first, *self.load)
        return caption(self.section, self.results, self.regions, self.ceilings, load)

    def sheet(
        self,
        what: str,
        ideal: str,
        layout: Layout,
        shown: list[Curve] | None = None,
        *,
        measures: Sequence[str] = (),
        drawn: Iterable[Estimate] | None = None,
        dots: str = "one run",
        also: Iterable[Line2D] = (),
    ) -> Sheet:
        """An empty sheet with the section's words on it; `ideal` says what the dashed line is.

        The key has the curves that are `shown`, by default all, the bars at the estimates that are
        `drawn`, by default those of the `measures`, what a dot is, if there are any, the band of
        the noise of the `measures`, and what is `also` there.
        """
        curves = self.section.curves if shown is None else shown
        if drawn is None:
            drawn = (p.estimate(what) for c in curves for p in c.points for what in measures)
        arms = list(dict.fromkeys(curve.key.arm for curve in curves))
        models = list(dict.fromkeys(curve.key.model for curve in curves))
        colours = {arm: self.colours[arm] for arm in arms}
        on = f"{formats.listed(models)} · {formats.listed(self.loops)}"
        kind, band = bounds_kind(drawn), _band_text([self.noise(what) for what in measures])
        return new_sheet(
            f"{self.section.label}: {what}",
            f"{sizing_text(self.section.sizing)} · {on}",
            [*key_entries(colours, models, kind, ideal, dots, band), *also],
            self.caption(),
            layout,
        )


def _band_text(floors: list[float]) -> str:
    """`A/A: equal cells differ by up to ±1.2 %`; of two, that across comes first."""
    if not floors or any(map(math.isnan, floors)):
        return ""
    spreads = [f"±{formats.percent(floor)}" for floor in floors]
    whole = f"{spreads[0]} across, {spreads[1]} up" if len(spreads) > 1 else spreads[0]
    return f"A/A: equal cells differ by up to {whole}"


def sizing_text(sizing: str) -> str:
    """`weak sizing: the same work in flight for each worker`."""
    return f"{sizing} sizing: {SIZINGS[sizing]}" if sizing in SIZINGS else f"{sizing} sizing"


@dataclass(frozen=True, kw_only=True)
class LoadSubject(Subject):
    """One served workload in an open loop, at all of its rates."""

    rated: Rated

    @cached_property
    def objectives_s(self) -> dict[str, list[float]]:
        """The study's objectives, in s, by the column of the percentile that each is for."""
        found: dict[str, list[float]] = {}
        for each in self.results.objectives:
            found.setdefault(f"latency_{each.percentile}_s", []).append(each.limit_s)
        return found


# --------------------------------------------------------------------------------------------- plot


@dataclass(frozen=True, slots=True)
class Plot[S: Subject]:
    """One kind of plot. `name` ends its file names: `echo-weak-throughput.svg`.

    `tables` gives the tables of the values drawn; its second argument is the title of the plot.
    `part` is where the page shows a section's; None for those of a `LoadSubject`.
    """

    name: str
    draw: Callable[[S], Sheet]
    is_there: Callable[[S], bool]
    tables: Callable[[S, str], list[Grid]]
    part: PagePart | None = None


def values_table(subject: Subject, title: str, is_shown: Callable[[Measure], bool]) -> list[Grid]:
    """A row for each N of each curve, with the columns that are shown."""
    shown = list(filter(is_shown, measures(subject.section)))
    return [values_grid(subject.section, shown, title)]


def columns_table(*columns: str) -> Callable[[Subject, str], list[Grid]]:
    """`Plot.tables` of a plot that shows exactly these columns."""
    return lambda subject, title: values_table(subject, title, lambda m: m.shown.name in columns)
