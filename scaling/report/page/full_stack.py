"""The full stack on the page: both pictures, and the tables with every figure."""

import matplotlib as mpl

from scaling.analysis.results import StudyResults
from scaling.report.page.parts import Block, PageFigure
from scaling.report.page.picture import RC_OF_PAGES, picture
from scaling.report.plots.full_stack import sheets
from scaling.report.tables.full_stack import stack_chapters


def stack_blocks(results: StudyResults) -> list[Block]:
    """A block with all stacks of the study; none where it has none."""
    with mpl.rc_context(RC_OF_PAGES):
        figures = [
            PageFigure(picture(sheet, f"stack-{number}"), [])
            for number, (_, sheet) in enumerate(sheets(results, results.soundness.warning), start=1)
        ]
    return [
        Block(words=chapter.words, figures=figures, grids=chapter.grids)
        for chapter in stack_chapters(results)
    ]
