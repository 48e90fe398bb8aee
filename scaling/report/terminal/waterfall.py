"""A waterfall in characters: from the time of an operation at N = 1, term by term, to that at N.

A loss is a full bar to the right of where the one before ended, a gain a shaded one to the left.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from scaling.analysis.attribution.cells import Attribution
from scaling.base import formats
from scaling.report.tables.comparison_view import Comparison
from scaling.report.tables.grid import Chapter
from scaling.report.tables.loss_sentences import sentences, unit_for, words_of
from scaling.report.tables.losses import terms_grid
from scaling.report.terminal.bars import FULL, LONGEST, SHADED, SHORTEST, SLIVER
from scaling.study.presets import FEWEST_FOR_INTERVAL

INDENT = "  "


class Waterfalls:
    """The sentences of all cells; then a waterfall and a table for each that misses its ideal, or
    may do so: below six blocks that is not known.
    """

    def __init__(self, cells: Sequence[Attribution]) -> None:
        self._cells = cells

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """A heading and sentences for each cell; then headings, waterfalls and tables."""
        del console
        for each in self._cells:
            yield Text(each.name, "bold")
            yield from map(Text, sentences(each))
            yield Text()
        for each in filter(_is_drawn, self._cells):
            yield Text(each.name, "bold")
            if not each.is_rated:
                yield from waterfall(each, options.max_width)
            yield Comparison([Chapter("", [], [terms_grid(each)])])


def _is_drawn(each: Attribution) -> bool:
    if each.whole is None:
        return False
    return each.misses or each.is_rated or each.blocks < FEWEST_FOR_INTERVAL


def waterfall(each: Attribution, width: int) -> Iterator[Text]:
    """The lines of one cell."""
    assert each.whole is not None
    unit = unit_for(each)
    one, many = each.whole.at_one.point, each.whole.at_n.point
    known = [loss for loss in each.losses if loss.loss.n]
    steps = [(words_of(loss.term, each), loss.loss.point) for loss in known]
    names = ["ideal, as N = 1", *(name for name, _ in steps), f"N = {each.workers}"]
    figures = [
        unit.number(each.whole.at_one),
        *(formats.signed(unit.number(loss.loss)) for loss in known),
        unit.number(each.whole.at_n),
    ]
    levels = [one]
    for _, loss in steps:
        levels.append(levels[-1] + loss)
    first, second = max(map(len, names)), max(map(len, figures))
    length = max(SHORTEST, min(LONGEST, width - first - second - len(INDENT) - 4))
    top = max(levels)
    spans = [(0.0, one), *pairwise(levels), (0.0, many)]
    for name, figure, (begin, end) in zip(names, figures, spans, strict=True):
        drawn = _step(begin, end, top, length)
        yield Text(f"{INDENT}{name:<{first}} {figure:>{second}}  {drawn}", no_wrap=True)


def _step(begin: float, end: float, top: float, length: int) -> str:
    """A bar between two levels, where `length` characters stand for `top`."""
    left, right = (round(max(0.0, level) / top * length) for level in sorted((begin, end)))
    full = FULL if end >= begin else SHADED
    return " " * left + (full * (right - left) or (SLIVER if end != begin else ""))
