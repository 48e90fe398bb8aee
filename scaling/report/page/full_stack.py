"""The full stack on the page: both pictures, and the tables with every figure."""

import matplotlib as mpl

from scaling.analysis.results import StudyResults
from scaling.report.page.parts import Block, PageFigure
from scaling.report.page.picture import Pictures
from scaling.report.plots.full_stack import drawings
from scaling.report.plots.style import RC
from scaling.report.tables.full_stack import stack_chapters


def stack_blocks(results: StudyResults, pictures: Pictures) -> list[Block]:
    """A block with all stacks of the study; none where it has none."""
    drawn = drawings(results, results.soundness.warning)
    with mpl.rc_context(RC):
        figures = [
            PageFigure(pictures.of(plot, f"stack-{number}", draw), [])
            for number, (plot, draw) in enumerate(drawn, start=1)
        ]
    return [
        Block(words=chapter.words, figures=figures, grids=chapter.grids)
        for chapter in stack_chapters(results)
    ]
