"""A sweep as small tables: a row for each value of the parameter, a column for each N.

One of throughput, with the speed-up over N = 1 below, and one for every other figure that goes with
a parameter: latencies, and what the workload itself measures.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from rich.text import Text

from scaling.analysis.curves.curve import Point
from scaling.analysis.curves.sweeps import Sweep, Track
from scaling.base import formats
from scaling.report.tables.fitting import GAP, figure_table, packed, width_of
from scaling.report.tables.measures import MARKS, Measure, curve_name, measures, medians_note
from scaling.report.tables.pipes import pipe_table

FASTER = ", × the speed-up over N = 1"


@dataclass(frozen=True, slots=True)
class Swept:
    """One figure of one track: `points` are the values' rows, with a place for each N."""

    track: Track
    measure: Measure
    points: list[list[Point | None]]

    @property
    def is_throughput(self) -> bool:
        """Whether the speed-up belongs beside it."""
        return self.measure.column == "throughput_per_s"

    @property
    def headings(self) -> list[str]:
        """`N = 4*`, as N is marked in other tables."""
        columns = zip(self.track.workers, zip(*self.points, strict=True), strict=True)
        return [f"N = {n}{_mark(points)}" for n, points in columns]

    def speedup(self, point: Point) -> str:
        """`×1.93 (1.90–1.95)` beside throughput, empty beside all else and where N is 1."""
        if not self.is_throughput or point.workers == 1 or not point.speedup.n:
            return ""
        return f"×{point.speedup!s}"


def swept(sweep: Sweep) -> list[Swept]:
    """The figures that are known at several values, track by track."""
    found = []
    is_open = all(section.rate_per_s is not None for section in sweep.sections)
    every = [
        measure
        for measure in measures(sweep.section)
        if measure.swept and not (is_open and measure.column == "throughput_per_s")
    ]
    for track in sweep.tracks:
        rows = [list(row) for row in zip(*(track.at(n) for n in track.workers), strict=True)]
        for measure in every:
            known = [any(point and measure.of(point).n for point in row) for row in rows]
            if sum(known) > 1:
                found.append(Swept(track, measure, rows))
    return found


def sweep_tables(sweep: Sweep, room: int) -> Iterator[Text]:
    """For a terminal: Ns that find no room beside the others are in a further table."""
    yield Text(sweep.title, "bold")
    for each in swept(sweep):
        name = f": {each.measure.heading}{FASTER if each.is_throughput else ''}"
        yield Text.assemble((curve_name(each.track), "italic"), (name, "dim"))
        headings = [sweep.parameter, *each.headings]
        rows = [
            [formats.parameter(value), *(_text(each, point) for point in row)]
            for value, row in zip(sweep.values, each.points, strict=True)
        ]
        widths = [width_of(column) for column in zip(headings, *rows, strict=True)]
        for places in packed(widths[1:], widths[0] + GAP, room):
            yield figure_table(headings, widths, rows, [0, *(1 + place for place in places)])
    yield Text(medians_note(_points(sweep)), "dim")


def sweep_markdown(sweep: Sweep) -> str:
    """The same as Markdown."""
    parts = [f"### {sweep.title}"]
    for each in swept(sweep):
        heading = f"{each.measure.heading}{FASTER if each.is_throughput else ''}"
        parts.append(f"**{curve_name(each.track)}**: {heading}")
        headings = [sweep.parameter, *(head.replace("*", r"\*") for head in each.headings)]
        rows = [
            [formats.parameter(value), *(_inline(each, point) for point in row)]
            for value, row in zip(sweep.values, each.points, strict=True)
        ]
        parts.append(pipe_table(headings, rows, range(len(headings))))
    return "\n\n".join([*parts, medians_note(_points(sweep))])


def _text(each: Swept, point: Point | None) -> str:
    """Median, below it the range or interval, and the speed-up."""
    if point is None:
        return formats.BLANK
    figure = each.measure.of(point)
    lines = (formats.number(figure.point), figure.bounds, each.speedup(point))
    return "\n".join(filter(None, lines))


def _inline(each: Swept, point: Point | None) -> str:
    if point is None:
        return formats.BLANK
    return ", ".join(filter(None, (str(each.measure.of(point)), each.speedup(point))))


def _mark(points: tuple[Point | None, ...]) -> str:
    """That of N's region, which is the same at all values."""
    return next((MARKS.get(point.region or "", "") for point in points if point), "")


def _points(sweep: Sweep) -> list[Point]:
    return [point for curve in sweep.section.curves for point in curve.points]
