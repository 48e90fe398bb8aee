"""What each configuration gives at each rate: offered and achieved, latencies, what they cost."""

from collections.abc import Iterable, Sequence
from itertools import product

from scaling.analysis.ratios import Ratios
from scaling.analysis.results import StudyResults
from scaling.analysis.served.capacity import Capacity, over_processes
from scaling.analysis.table.column import Shown
from scaling.analysis.table.columns import SHOWN
from scaling.analysis.table.latency import BEYOND, fewest
from scaling.base import formats
from scaling.report.tables.findings import contrast_grids, named, ratios_note, stacked
from scaling.report.tables.grid import Cell, Grid
from scaling.report.tables.measures import SUSPECT
from scaling.report.tables.rated import PERCENTILES, AtRate, Line, Rated, at_rate, has_background
from scaling.study.questions import CPU, MEMORY, P99

# ------------------------------------------------------------------------------------------ at rate
# Configurations at one rate of an open loop: latency, CPU time and memory, each over another.
#
# Each figure of threads is over the processes that are best at it, so these may have several rows.

FIRST = (P99, CPU, MEMORY)


def at_rate_grids(each: Rated, results: StudyResults) -> list[Grid]:
    """A table for each loop, at the middle rate."""
    sections = {
        compared.loop: compared.ratios
        for compared in results.judged
        if compared.section.rate_per_s == each.middle_rate_per_s
        and any(curve in each.section.curves for curve in compared.curves)
    }
    rate = formats.number(each.middle_rate_per_s)
    return [
        grid.noted(ratios_note(grid.estimates))
        for loop, ratios in sections.items()
        for grid in contrast_grids(
            f"{each.label} · {loop}, at {rate}/s: each over another",
            ratios,
            ["of", "over"],
            first=FIRST,
        )
    ]


# -------------------------------------------------------------------------------------------- rates

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
    "delivered_per_s",
    "cpu_s_per_op",
    "connection_bytes",
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
        _grid(title, [row for rate in rated.rates_per_s for row in at_rate(lines, rate)], rated)
        for title, lines in _parts(rated)
    ]


def percentile_grids(rated: Rated) -> list[Grid]:
    """The same at the middle rate only."""
    rate = rated.middle_rate_per_s
    found = []
    for title, lines in _parts(rated):
        if rows := at_rate(lines, rate):
            found.append(_grid(f"{title}, {formats.number(rate)}/s", rows, rated))
    return found


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
    in_background = has_background(rated.section)
    notes = [NOTE.format(kind="foreground " if in_background else "")]
    notes += [BACKGROUND_NOTE] if in_background else []
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


# ----------------------------------------------------------------------------------------- capacity
# Capacity at each objective: of every configuration, per core, per GiB, and over processes.

CAPACITY_NOTE = (
    "Capacity: where a monotone fit of the percentile over the rates crosses the objective, in "
    "each block, with no error and no backlog below; of all workers together."
)
CAPACITY_BOUNDS_NOTE = "≥ and <: it lies outside the rates that were measured."
UP_TO_NOTE = (
    "Up to: by latencies that count from when a request was sent. The load generator was late: "
    "latencies from the due time are upper bounds, so the capacity by these is a lower bound."
)


def capacity_grids(rated: Rated, found: Ratios) -> list[Grid]:
    """A table for each objective and loop, with a row for each configuration and N."""
    groups = dict.fromkeys((each.objective, each.cell.loop) for each in rated.capacities)
    return [
        _capacity_grid(
            f"{rated.label} · {loop}: capacity at {objective.text}",
            rated.sent,
            [
                each
                for each in rated.capacities
                if (each.objective, each.cell.loop) == (objective, loop)
            ],
            found,
        )
        for objective, loop in groups
    ]


def _capacity_grid(title: str, sent: str, every: list[Capacity], found: Ratios) -> Grid:
    rows = [_capacity_row(each, found) for each in every]
    over = [ratio.over for each in every if (ratio := over_processes(each, found))]
    notes = [CAPACITY_NOTE]
    notes += [CAPACITY_BOUNDS_NOTE] if any(each.bound for each in every) else []
    late = any(each.up_to for each in every)
    notes += [UP_TO_NOTE] if late else []
    if over:
        names = dict.fromkeys(named(each) for each in over)
        notes.append(f"Over processes: the strongest with the GIL, {' or '.join(names)}.")
    headings = ["N", "configuration", "blocks", f"{sent}/s", "up to", "per core", "per GiB"]
    headings += ["over processes"] * bool(over)
    shown = [place for place, heading in enumerate(headings) if late or heading != "up to"]
    rows = [[row[place] for place in shown] for row in rows]
    return Grid(title, [headings[place] for place in shown], rows, 2, "\n".join(notes))


def _capacity_row(each: Capacity, found: Ratios) -> list[Cell]:
    cell, ratio = each.cell, over_processes(each, found)
    estimates = (each.estimate, each.per_core, each.per_gib)
    figures: list[Cell] = [*estimates]
    if each.bound:
        figures = [f"{each.bound} {formats.number(value.point)}" for value in estimates]
    figures.insert(1, each.up_to)
    return [
        str(cell.workers),
        stacked(cell),
        str(each.estimate.n),
        *figures,
        ratio or "",
    ]
