"""Several machines on one page: what holds on all of them, their curves, and what they are."""

from collections.abc import Mapping

import matplotlib as mpl

from scaling.analysis.lookup.extent import incomplete
from scaling.analysis.results import StudyResults
from scaling.journal.hosts import Standing
from scaling.report.page.parts import Block, PageFigure, PageSection
from scaling.report.page.picture import picture
from scaling.report.page.render import template
from scaling.report.plots.machines import machine_sheets
from scaling.report.plots.style import RC
from scaling.report.tables.grid import Chapter
from scaling.report.tables.machines_view import (
    curve_chapters,
    machines_chapter,
    verdict_chapters,
)

QUESTION = "What are the results of one study on several machines, and what holds on all of them?"
VERDICTS = "Each machine's own verdict, and whether all have the same. Machines are not averaged."
CURVES = "Speed-up over one worker on the same machine."
FIGURES = "Every figure at every N, and the laws where there are enough of them."


def machines_page(machines: Mapping[str, StudyResults], standings: Mapping[str, Standing]) -> str:
    """The HTML of a study on several machines, by label; the same results give the same page."""
    about = machines_chapter(machines, standings)
    parts = [
        PageSection("answer", "What holds on all", _blocks(verdict_chapters(machines)), VERDICTS),
        PageSection("curves", "How it scales", _pictures(machines), CURVES),
        PageSection("figures", "Machine by machine", _blocks(curve_chapters(machines)), FIGURES),
        PageSection("machines", about.title, [Block(words=about.words)]),
    ]
    first = next(iter(machines.values()))
    return template().render(
        study=first.study,
        question=QUESTION,
        parts=[part for part in parts if not part.is_empty],
        is_void=False,
        warnings=[],
        skipped=[note for results in machines.values() for note in results.notes],
        incomplete="; ".join(
            f"{label}: {lacks}"
            for label, each in machines.items()
            if (lacks := incomplete(each.frame, each.study, each.notes))
        ),
        tables=[],
    )


def _blocks(chapters: list[Chapter]) -> list[Block]:
    return [Block(each.title, each.words, grids=each.grids) for each in chapters]


def _pictures(machines: Mapping[str, StudyResults]) -> list[Block]:
    with mpl.rc_context(RC):
        figures = [
            PageFigure(picture(sheet, f"m-{name}"), []) for name, sheet in machine_sheets(machines)
        ]
    return [Block(figures=figures)]
