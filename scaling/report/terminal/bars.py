"""Throughput against N as bars of characters: the shape of a curve at one glance.

The bars of a section have one scale, from 0 to its largest figure, so that all can be compared. A
bar is full to the lower end of the range or interval and shaded to its upper end, with a stroke
where the median is; an interval that is narrower than a character is not seen.
"""

from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from scaling.analysis.curves.sections import Section
from scaling.analysis.results import StudyResults
from scaling.analysis.statistics.estimate import Estimate, bounds_kind
from scaling.base import formats
from scaling.report.tables.measures import MARKS, SUSPECT, curve_name

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
