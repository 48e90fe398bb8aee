"""A sweep as small tables: a row for each value of the parameter, a column for each N.

One for each figure that goes with a parameter: throughput, speed-up, latencies, and what the
workload itself measures.
"""

from collections.abc import Iterator

from scaling.analysis.curves.curve import Point
from scaling.analysis.curves.sweeps import Sweep, Track
from scaling.base import formats
from scaling.report.tables.grid import Cell, Grid
from scaling.report.tables.measures import Measure, curve_name, marked, measures, medians_note

OF_SCHEDULE = ("throughput_per_s", "speedup")  # in an open loop the schedule decides these


def sweep_grids(sweep: Sweep) -> list[Grid]:
    """The figures that are known at several values, track by track."""
    is_open = all(section.rate_per_s is not None for section in sweep.sections)
    every = [
        measure
        for measure in measures(sweep.section)
        if measure.swept and not (is_open and measure.column in OF_SCHEDULE)
    ]
    return [
        grid
        for track in sweep.tracks
        for measure in every
        for grid in _known(sweep, track, measure)
    ]


def sweep_note(sweep: Sweep) -> str:
    """What stands below all of its tables."""
    return medians_note(point for curve in sweep.section.curves for point in curve.points)


def _known(sweep: Sweep, track: Track, measure: Measure) -> Iterator[Grid]:
    """The table of a figure, if more than one value has it."""
    ns = [n for n in track.workers if n > 1 or measure.column != "speedup"]
    points = [list(row) for row in zip(*(track.at(n) for n in ns), strict=True)]
    if sum(any(point and measure.of(point).n for point in row) for row in points) <= 1:
        return
    rows: list[list[Cell]] = [
        [formats.parameter(value), *(measure.of(p) if p else formats.BLANK for p in row)]
        for value, row in zip(sweep.values, points, strict=True)
    ]
    columns = zip(*points, strict=True)
    headings = [f"N = {_marked(column)}" for column in columns]
    yield Grid(f"{curve_name(track)}: {measure.heading}", [sweep.parameter, *headings], rows)


def _marked(points: tuple[Point | None, ...]) -> str:
    """`4*`, as N is marked in other tables: it is in one region at all values."""
    return next(marked(point) for point in points if point)
