"""Capacity at each objective: of every configuration, per core, per GiB, and over processes."""

from scaling.analysis.ratios import Ratios
from scaling.analysis.served.capacity import Capacity
from scaling.analysis.served.capacity_table import over_processes
from scaling.base import formats
from scaling.report.tables.grid import Cell, Grid
from scaling.report.tables.phrases import named, stacked
from scaling.report.tables.rated import Rated

NOTE = (
    "Capacity: where a monotone fit of the percentile over the rates crosses the objective, in "
    "each block, with no error and no backlog below; of all workers together."
)
BOUNDS_NOTE = "≥ and <: it lies outside the rates that were measured."
UP_TO_NOTE = (
    "Up to: by latencies that count from when a request was sent. The load generator was late: "
    "latencies from the due time are upper bounds, so the capacity by these is a lower bound."
)


def capacity_grids(rated: Rated, found: Ratios) -> list[Grid]:
    """A table for each objective and loop, with a row for each configuration and N."""
    groups = dict.fromkeys((each.objective, each.cell.loop) for each in rated.capacities)
    return [
        _grid(
            f"{rated.label} · {loop}: capacity at {objective.text}",
            [
                each
                for each in rated.capacities
                if (each.objective, each.cell.loop) == (objective, loop)
            ],
            found,
        )
        for objective, loop in groups
    ]


def _grid(title: str, every: list[Capacity], found: Ratios) -> Grid:
    rows = [_row(each, found) for each in every]
    over = [ratio.over for each in every if (ratio := over_processes(each, found))]
    notes = [NOTE]
    notes += [BOUNDS_NOTE] if any(each.bound for each in every) else []
    late = any(each.up_to for each in every)
    notes += [UP_TO_NOTE] if late else []
    if over:
        names = dict.fromkeys(named(each) for each in over)
        notes.append(f"Over processes: the strongest with the GIL, {' or '.join(names)}.")
    headings = ["N", "configuration", "blocks", "requests/s", "up to", "per core", "per GiB"]
    headings += ["over processes"] * bool(over)
    shown = [place for place, heading in enumerate(headings) if late or heading != "up to"]
    rows = [[row[place] for place in shown] for row in rows]
    return Grid(title, [headings[place] for place in shown], rows, 2, "\n".join(notes))


def _row(each: Capacity, found: Ratios) -> list[Cell]:
    cell, ratio = each.cell, over_processes(each, found)
    estimates = (each.estimate, each.per_core, each.per_gib)
    figures: list[Cell] = [*estimates]
    if each.bound:
        figures = [f"{each.bound} {formats.number(value.point)}" for value in estimates]
    figures.insert(1, each.up_to)
    return [
        str(cell.workers),
        stacked(cell),
        str(len(each.blocks)),
        *figures,
        ratio or "",
    ]
