"""Latency under load: the pictures of every served workload in an open loop, with their tables."""

from collections.abc import Iterable

import matplotlib as mpl

from scaling.analysis.results import StudyResults
from scaling.report.page.parts import Block, PageFigure
from scaling.report.page.picture import RC_OF_PAGES, picture
from scaling.report.plots.draw import load_sheets
from scaling.report.plots.load_subject import LoadSubject
from scaling.report.tables.questions.at_rate import at_rate_grids
from scaling.report.tables.questions.capacity import capacity_grids


def load_blocks(about: Iterable[LoadSubject], results: StudyResults) -> list[Block]:
    """A block for each workload, sizing and set of parameters but the rate."""
    with mpl.rc_context(RC_OF_PAGES):
        return [_block(each, f"l{number}", results) for number, each in enumerate(about, start=1)]


def _block(about: LoadSubject, name: str, results: StudyResults) -> Block:
    figures = [
        PageFigure(picture(sheet, f"{name}-{plot.name}"), plot.tables(about))
        for plot, sheet in load_sheets(about)
    ]
    rated = about.rated
    grids = [*capacity_grids(rated, results.capacities), *at_rate_grids(rated, results)]
    return Block(rated.title, figures=figures, grids=grids)
