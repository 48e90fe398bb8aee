"""Pictures in characters: a curve as bars, a loss as a waterfall."""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from scaling.analysis.losses import Attribution
from scaling.analysis.results import StudyResults
from scaling.analysis.sections import Section
from scaling.analysis.statistics.estimate import Estimate, bounds_kind
from scaling.base import formats
from scaling.builds.arms import parse_arm
from scaling.report.tables.findings import workers
from scaling.report.tables.grid import Cell, Chapter, Chapters
from scaling.report.tables.losses import sentences, terms_grid, unit_for, words_of
from scaling.report.tables.measures import MARKS, SUSPECT, curve_name
from scaling.report.tables.overview import Row, apart, chapter_of
from scaling.study.presets import FEWEST_FOR_INTERVAL

# --------------------------------------------------------------------------------------------- bars
# Throughput against N as bars of characters: the shape of a curve at one glance.
#
# The bars of a section have one scale, from 0 to its largest figure, so that all can be compared. A
# bar is full to the lower end of the range or interval and shaded to its upper end, with a stroke
# where the median is; an interval that is narrower than a character is not seen.

FULL, SHADED, MEDIAN, SLIVER = "█", "░", "┃", "▏"
LONGEST, SHORTEST = 50, 8  # characters of a bar


class Bars:
    """The throughput of every curve of a study, printed by rich in the width available."""

    def __init__(self, results: StudyResults) -> None:
        self._sections = sorted(results.sections, key=lambda each: each.is_control)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """A group of bars for each curve of each section."""
        del console
        for section in self._sections:
            yield Text(f"{section.title} · {section.operation}/s against N", "bold")
            yield from _section(section, options.max_width)
            yield Text()


def _section(section: Section, width: int) -> Iterator[Text]:
    points = [point for curve in section.curves for point in curve.points]
    every = [point.throughput for point in points]
    numbers = max(len(_number(each)) for each in every)
    beside = max(len(each.bounds) for each in every)
    ns = max(len(str(point.workers)) for point in points)
    room = width - ns - numbers - beside - len("?*   ")
    length = max(SHORTEST, min(LONGEST, room))
    top = max((each.high for each in every if each.n), default=0.0)
    for curve in section.curves:
        yield Text(curve_name(curve), "italic")
        for point in curve.points:
            marks = f"{SUSPECT if point.suspect else ''}{MARKS.get(point.region or '', '')}"
            yield Text.assemble(
                f"{point.workers:>{ns}}{marks:<2} ",
                f"{bar(point.throughput, top, length):<{length}}",
                f" {_number(point.throughput):>{numbers}} ",
                (point.throughput.bounds, "dim"),
                no_wrap=True,
                overflow="crop",
            )
    if kind := bounds_kind(every):
        yield Text(f"{MEDIAN} median; {SHADED} and beside it: {kind}", "dim")


def _number(value: Estimate) -> str:
    return formats.number(value.point)


def bar(value: Estimate, top: float, length: int) -> str:
    """The bar of an estimate, where `length` characters stand for `top`; empty without a value."""
    if not value.n or top <= 0:
        return ""
    low, middle, high = (
        round(max(0.0, each) / top * length) for each in (value.low, value.point, value.high)
    )
    if high == 0:
        return SLIVER if value.point > 0 else ""
    drawn = list(FULL * low + SHADED * (high - low))
    if high > low:
        drawn[min(middle, high - 1)] = MEDIAN
    return "".join(drawn)


# ---------------------------------------------------------------------------------------- waterfall

INDENT = "  "
MOST_TOLD, MOST_ROWS = 4, 6


class InShort:
    """The sentences of the cells that lose most, the waterfall of the first, and a row for others.

    Told are threads without the GIL, where a study has them; the other tables are `Waterfalls`.
    """

    def __init__(self, cells: Sequence[Attribution]) -> None:
        asked = [each for each in cells if _is_asked(each)] or list(cells)
        asked.sort(key=_kept)
        self._told = asked[:MOST_TOLD]
        told = set(map(id, self._told))
        others = [
            each for each in cells if each.whole and not each.is_rated and id(each) not in told
        ]
        self._rows = sorted(others, key=_kept)[:MOST_ROWS]

    @property
    def shown(self) -> int:
        """How many cells are in it."""
        return len(self._told) + len(self._rows)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Sentences, a waterfall, a table."""
        del console
        yield from _told(self._told)
        first = self._told[0]
        if _is_drawn(first) and not first.is_rated:
            yield Text(first.name, "bold")
            yield from waterfall(first, options.max_width)
            yield Text()
        if self._rows:
            yield Chapters([_others(self._rows)])


def _is_asked(each: Attribution) -> bool:
    return each.of.model == "threads" and parse_arm(each.of.arm).without_gil


def _kept(each: Attribution) -> tuple[bool, float]:
    """For sorting: what misses its ideal first, and of that what has the least efficiency."""
    efficiency = each.whole.factor.point if each.whole and each.whole.factor.n else math.inf
    return not each.misses, efficiency


def _others(cells: Sequence[Attribution]) -> Chapter:
    """A row for each cell: its efficiency, its loss, and where most of that goes."""
    shared, labels = apart([each.runs.section.label for each in cells])
    rows: list[Row] = []
    for label, each in zip(labels, cells, strict=True):
        assert each.whole is not None
        unit, loss = unit_for(each), each.whole.loss
        figures: dict[str, Cell] = {
            "efficiency": each.whole.factor,
            "loss per\noperation": f"{unit.number(loss)} {unit.name}\n{unit.bounds(loss)}".strip(),
            "largest\npart": words_of(each.largest.term, each) if each.largest else formats.BLANK,
        }
        rows.append(([label, each.runs.loop, f"{each.of.arm}\n{workers(each.of)}"], figures))
    title = f"Other cells{f' of {shared}' if shared else ''}, what loses most first"
    return chapter_of(title, ["with", "loop"], rows, [])


def _told(cells: Iterable[Attribution]) -> Iterator[Text]:
    """A heading and sentences for each cell."""
    for each in cells:
        yield Text(each.name, "bold")
        yield from map(Text, sentences(each))
        yield Text()


class Waterfalls:
    """The sentences of all cells; then a waterfall and a table for each that misses its ideal, or
    may do so: below six blocks that is not known.
    """

    def __init__(self, cells: Sequence[Attribution]) -> None:
        self._cells = cells

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Sentences; then headings, waterfalls and tables."""
        del console
        yield from _told(self._cells)
        for each in filter(_is_drawn, self._cells):
            yield Text(each.name, "bold")
            if not each.is_rated:
                yield from waterfall(each, options.max_width)
            yield Chapters([Chapter("", [], [terms_grid(each)])])


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
