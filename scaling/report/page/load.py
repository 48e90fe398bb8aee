"""Latency under load: the pictures of every served workload in an open loop, with their tables."""

from collections.abc import Mapping
from functools import partial

import matplotlib as mpl

from scaling.analysis.results import StudyResults
from scaling.report.page.parts import Block, PageFigure
from scaling.report.page.picture import Pictures
from scaling.report.plots.draw import load_plots_of
from scaling.report.plots.style import RC
from scaling.report.plots.subject import LoadSubject
from scaling.report.tables.questions.at_rate import at_rate_grids
from scaling.report.tables.questions.capacity import capacity_grids


def load_blocks(
    about: Mapping[str, LoadSubject], results: StudyResults, pictures: Pictures
) -> list[Block]:
    """A block for each workload, sizing and set of parameters but the rate.

    `about` has them by the beginning of their file names.
    """
    with mpl.rc_context(RC):
        return [
            _block(each, stem, f"l{number}", results, pictures)
            for number, (stem, each) in enumerate(about.items(), start=1)
        ]


def _block(
    about: LoadSubject, stem: str, name: str, results: StudyResults, pictures: Pictures
) -> Block:
    figures = []
    for plot in load_plots_of(about):
        draw = partial(plot.draw, about)
        shown = pictures.of(f"{stem}-{plot.name}", f"{name}-{plot.name}", draw)
        figures.append(PageFigure(shown, plot.tables(about)))
    rated = about.rated
    grids = [*capacity_grids(rated, results.ratios), *at_rate_grids(rated, results)]
    return Block(rated.title, figures=figures, grids=grids)
