"""What the plots of latency under load are about: one served workload at all of its rates."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from matplotlib.lines import Line2D

from scaling.analysis.curves.curve import Curve
from scaling.analysis.results import StudyResults
from scaling.analysis.served.course import Course
from scaling.analysis.statistics.estimate import Estimate
from scaling.journal.record import Cell
from scaling.report.plots.load_caption import load_text, noise_text
from scaling.report.plots.sheet import Layout, Sheet
from scaling.report.plots.subject import Subject, subject
from scaling.report.tables.few_collections import collections_text
from scaling.report.tables.rated import Rated, rated


@dataclass(frozen=True, slots=True)
class LoadSubject:
    """One served workload in an open loop.

    `about` is the subject of its curves at all rates; `objectives_s` are the study's objectives, in
    s, by the column of the percentile that each is for; `courses` are the study's
    (`StudyResults.courses`).
    """

    rated: Rated
    about: Subject
    objectives_s: dict[str, list[float]]
    courses: Mapping[Cell, Course]

    def sheet(
        self,
        what: str,
        layout: Layout,
        drawn: Sequence[Estimate],
        also: Iterable[Line2D],
        shown: list[Curve] | None = None,
        note: str = "",
    ) -> Sheet:
        """An empty sheet with the words about this workload on it, a `note` the first of them.

        The key has the curves that are `shown`, by default all.
        """
        about = replace(self.about, load=(note, *self.about.load))
        return about.sheet(what, "", layout, shown, drawn=drawn, dots="", also=also)


def load_subjects(results: StudyResults, warning: str) -> list[LoadSubject]:
    """What there is to draw of latency under load; `warning` begins the captions."""
    objectives_s: dict[str, list[float]] = {}
    for objective in results.objectives:
        column = f"latency_{objective.percentile}_s"
        objectives_s.setdefault(column, []).append(objective.limit_s)
    return [
        LoadSubject(
            each,
            subject(
                each.section,
                results.study,
                warning,
                floor=results.floor,
                load=[
                    *load_text(each.section, results),
                    collections_text(each.section, results),
                    noise_text(each.section, results.floor),
                ],
            ),
            objectives_s,
            results.courses,
        )
        for each in rated(results)
    ]
