"""What a figure is about: one section of the study, and what all its figures have in common."""

from dataclasses import dataclass

from scaling import wording
from scaling.analysis.curves import Curve
from scaling.analysis.sections import Section
from scaling.journal.record import StudyLine
from scaling.plots.caption import caption
from scaling.plots.regions import Region, regions
from scaling.plots.sheet import Layout, Sheet, key_entries, new_sheet
from scaling.plots.style import arm_colours

SIZINGS = {
    "weak": "weak sizing: the same work in flight for each worker",
    "strong": "strong sizing: the same work in flight in total",
}
MOST_COLUMNS = 3  # panels side by side that a README's width still shows well


@dataclass(frozen=True, slots=True)
class Subject:
    """A section with its study: curves by loop, colours by arm, borders by machine."""

    section: Section
    study: StudyLine
    colours: dict[str, str]
    regions: list[Region]

    @property
    def loops(self) -> list[str]:
        """The loops that have a panel, in order."""
        return list(dict.fromkeys(curve.key.loop for curve in self.section.curves))

    def a_panel_per_loop(self, under_in: float = 0.0) -> Layout:
        """Panels side by side, as many in a row as a README's width shows well."""
        loops = len(self.loops)
        return Layout(loops, min(loops, MOST_COLUMNS), under_in=under_in)

    def on(self, loop: str) -> list[Curve]:
        """The curves of a loop."""
        return [curve for curve in self.section.curves if curve.key.loop == loop]

    def has(self, what: str) -> bool:
        """Whether any point of any curve has that estimate."""
        return any(getattr(p, what).n for curve in self.section.curves for p in curve.points)

    def sheet(self, what: str, ideal: str, layout: Layout) -> Sheet:
        """An empty sheet with the section's words on it; `ideal` says what the dashed line is."""
        curves = self.section.curves
        arms = list(dict.fromkeys(curve.key.arm for curve in curves))
        models = list(dict.fromkeys(curve.key.model for curve in curves))
        spread = wording.spread(point.throughput for curve in curves for point in curve.points)
        return new_sheet(
            f"{self.section.label}: {what}",
            f"{SIZINGS.get(self.section.sizing, self.section.sizing)} · "
            f"{listed(models)} · {listed(self.loops)}",
            key_entries({arm: self.colours[arm] for arm in arms}, models, spread, ideal),
            caption(self.section, self.study, self.regions),
            layout,
        )


def subject(section: Section, study: StudyLine) -> Subject:
    """What the figures of a section need, worked out once."""
    drawn = {curve.key.arm for curve in section.curves}
    arms = [arm for arm in study.arms if arm in drawn] + sorted(drawn - set(study.arms))
    return Subject(section, study, arm_colours(arms), regions(section.curves, study.machine))


def listed(words: list[str]) -> str:
    """`threads`, `threads and processes`, `a, b and c`."""
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last
