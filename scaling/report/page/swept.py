"""The sweeps of a study: throughput against a parameter, and tables with a row for each value."""

from collections.abc import Iterable, Sequence

import matplotlib as mpl

from scaling.analysis.curves.sweeps import Sweep
from scaling.report.page.parts import Block, PageFigure
from scaling.report.page.picture import Picture, Pictures
from scaling.report.plots import sweep as plots
from scaling.report.plots.style import RC
from scaling.report.plots.subject import Subject
from scaling.report.tables.swept import sweep_grids, sweep_note


def sweep_blocks(
    about: Iterable[Subject], sweeps: Sequence[Sweep], pictures: Pictures
) -> list[Block]:
    """A block for each sweep: its picture, and a table for each figure of each of its curves.

    `about` are the subjects of all of the study's sections.
    """
    shown = list(filter(plots.is_drawn, sweeps))
    with mpl.rc_context(RC):
        drawn = [
            pictures.of(plot, f"s{number}-sweep", draw)
            for number, (plot, draw) in enumerate(plots.drawings(about, sweeps), start=1)
        ]
    return [_block(*each) for each in zip(shown, drawn, strict=True)]


def _block(sweep: Sweep, drawn: Picture) -> Block:
    grids = sweep_grids(sweep)
    shown = PageFigure(drawn, grids, [sweep_note(sweep)])
    return Block(sweep.title, figures=[shown] if grids else [])  # one value has no table
