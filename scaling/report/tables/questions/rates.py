"""What each configuration gives at each rate: offered and achieved, latencies, what they cost."""

from collections.abc import Iterable, Sequence
from itertools import product

from scaling.analysis.table.column import Shown
from scaling.analysis.table.columns import SHOWN
from scaling.analysis.table.latency import BEYOND, fewest
from scaling.base import formats
from scaling.report.tables.grid import Cell, Grid
from scaling.report.tables.measures import SUSPECT
from scaling.report.tables.phrases import named, ratios_note
from scaling.report.tables.rated import PERCENTILES, AtRate, Line, Rated

COLUMNS = (
    "offered_per_s",
    "achieved_per_s",
    *PERCENTILES,
    "latency_max_s",
    "refused_fraction",
    "deadline_missed_fraction",
    "calm_p99_s",
    "overload_p99_s",
    "overload_good_per_s",
    "recovery_s",
    "background_p50_s",
    "background_p99_s",
    "slip_p99_s",
    "load_errors",
    "cpu_s_per_op",
)
BOUND, BEHIND = "≥", "†"
RATIO = "P99 over processes"
NOTE = (
    "Latency is that of all {kind}requests, from the time at which each was due; unfinished ones "
    "count with the latency so far."
)
BACKGROUND_NOTE = "Background requests are in no latency but their own; they count in all else."
DECLINED_NOTE = (
    "Requests that were refused or given up at the deadline are in no latency, and not achieved."
)
BOUNDS_NOTE = f"{BEHIND} The server fell behind: latencies of this row are lower bounds."
SUSPECT_NOTE = f"{SUSPECT} some of these runs are suspect; why is listed with the runs."
BLANK_NOTE = (
    f"{formats.BLANK} Too few requests in a run: a percentile needs {BEYOND} beyond it, so P99 "
    f"{fewest(0.99):,} in all."
)


def rate_grids(rated: Rated) -> list[Grid]:
    """A table for each loop and N: at each rate a row for each configuration."""
    return [
        _grid(title, [row for rate in rated.rates_per_s for row in _at(lines, rate)], rated)
        for title, lines in _parts(rated)
    ]


def percentile_grids(rated: Rated) -> list[Grid]:
    """The same at the middle rate only."""
    rate = rated.middle_rate_per_s
    found = []
    for title, lines in _parts(rated):
        if rows := _at(lines, rate):
            found.append(_grid(f"{title}, {formats.number(rate)}/s", rows, rated))
    return found


def _at(lines: Iterable[Line], rate_per_s: float) -> list[tuple[Line, AtRate]]:
    return [(line, at) for line in lines if (at := line.at(rate_per_s)) is not None]


def _parts(rated: Rated) -> Iterable[tuple[str, list[Line]]]:
    """The configurations of each loop and N, with the words for both."""
    for loop, n in product(rated.loops, rated.workers):
        if lines := rated.on(loop, n):
            yield f"{rated.label} · {loop}, N = {n}", lines


def _grid(title: str, rows: Sequence[tuple[Line, AtRate]], rated: Rated) -> Grid:
    points = [at.point for _, at in rows]
    shown = {
        name: column.shown
        for name in COLUMNS
        if (column := SHOWN.get(name)) and column.shown
        if any(point.figures[name].n for point in points)
    }
    headings = [each.heading.format(operation=rated.section.operation) for each in shown.values()]
    ratios = [rated.ratio(line, at.rate_per_s) for line, at in rows]
    cells = [_row(line, at, shown) for line, at in rows]
    notes = [NOTE.format(kind="foreground " if rated.has_background else "")]
    notes += [BACKGROUND_NOTE] if rated.has_background else []
    notes += [DECLINED_NOTE] if "refused_fraction" in shown else []
    notes += [BLANK_NOTE] if any(formats.BLANK in row for row in cells) else []
    notes += [BOUNDS_NOTE] if any(at.is_bound for _, at in rows) else []
    notes += [SUSPECT_NOTE] if any(at.point.suspect for _, at in rows) else []
    if any(ratios):
        headings.append(RATIO)
        cells = [[*row, each or ""] for row, each in zip(cells, ratios, strict=True)]
        over = dict.fromkeys(named(each.over) for each in ratios if each)
        made = ratios_note([each for each in ratios if each])
        notes.append(f"{RATIO}: the strongest, {' or '.join(over)}. {made}")
    return Grid(
        title,
        ["asked/s", "configuration", "runs", *headings],
        cells,
        words=2,
        note="\n".join(notes),
    )


def _row(line: Line, at: AtRate, shown: dict[str, Shown]) -> list[Cell]:
    name = f"{line.key.arm}\n{line.key.model}"
    rate = f"{formats.number(at.rate_per_s)}{BEHIND if at.is_bound else ''}"
    runs = f"{at.point.runs}{SUSPECT if at.point.suspect else ''}"
    figures: list[Cell] = [
        at.point.figures[column].scaled(each.factor, each.heading)
        if at.point.figures[column].n
        else formats.BLANK
        for column, each in shown.items()
    ]
    return [rate, name, runs, *figures]
