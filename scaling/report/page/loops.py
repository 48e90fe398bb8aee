"""Loops held against asyncio, and other runtimes against Python: words and tables."""

from collections.abc import Iterable

from scaling.analysis.comparison.compare import Compared
from scaling.report.page.parts import Block
from scaling.report.tables.comparison_grids import loop_grids, runtime_grids
from scaling.report.tables.loop_sentences import across_loops
from scaling.report.tables.margins import floors
from scaling.report.tables.phrases import ratios_note
from scaling.report.tables.sentences import states


def loop_blocks(compared: Iterable[Compared]) -> list[Block]:
    """A block for each section that was run on several loops, or on another runtime."""
    return [_block(each) for each in compared if each.is_across_loops]


def _block(compared: Compared) -> Block:
    grids = [*loop_grids(compared.loops), *runtime_grids(compared.runtimes)]
    shown = [figure for grid in grids for figure in grid.estimates]
    notes = [ratios_note(shown), *floors(compared), *states(compared)]
    return Block(compared.runs.title, across_loops(compared), grids=grids, notes=notes)
