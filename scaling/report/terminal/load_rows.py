"""What clients saw, as lines: capacity at each objective, and latency at the middle rate."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

from scaling.analysis.ratios import Ratios
from scaling.analysis.results import StudyResults
from scaling.analysis.served.capacity import Capacity, over_processes
from scaling.analysis.statistics.estimate import Estimate
from scaling.analysis.statistics.verdict import RatioVerdict
from scaling.analysis.table.latency import PERCENTILES
from scaling.base import formats
from scaling.journal.record import Cell
from scaling.report.tables.findings import (
    bounds_heading,
    briefly,
    first_fitting,
    times,
    verdict_text,
    with_bounds,
)
from scaling.report.tables.measures import in_ms
from scaling.report.tables.notes import bounds
from scaling.report.tables.rates import (
    BOUND,
    AtRate,
    Rated,
    has_background,
    rated,
)
from scaling.study.presets import FEWEST_FOR_INTERVAL

MOST_ROWS = 10
BESIDE_RATIOS = 4
COLUMNS = ("latency_p99_s", "latency_p90_s", "latency_p50_s")  # the first that is known
US_PER_S = 1e6
CPU = "cpu_s_per_op"
BEYOND = "≥, <: outside the rates that were measured"
UP_TO = "up to: by latencies from when requests were sent; the load generator was late"


class Table(NamedTuple):
    """A heading, the first that there is room for; rows and notes.

    A row is a configuration, its figure, and what stands beside it: the first text that has room,
    or below it if none has. An empty last text means: leave it out rather than put it below.
    """

    headings: tuple[str, ...]
    rows: list[tuple[str, str, tuple[str, ...]]]
    notes: list[str]


def load_lines(
    results: StudyResults, width: int, room: int, most: int = MOST_ROWS
) -> Iterator[str]:
    """The tables of each workload in an open loop, in at most `room` lines and so many rows."""
    tables = [table for each in rated(results) for table in _tables(each, results)]
    left = most
    for place, table in enumerate(tables):
        after = tables[place + 1 :]
        shown = max(left // min(len(after) + 1, left or 1), left - sum(len(t.rows) for t in after))
        shown = min(shown, len(table.rows)) if left else 0
        fitting = room - bool(after)
        while shown and len(lines := list(_lines(table, shown, width))) > fitting:
            shown -= 1
        if not shown:
            yield from ["and more under load: see the tables"][:room]
            return
        yield from lines
        left -= shown
        room -= len(lines)


def _lines(table: Table, most: int, width: int) -> Iterator[str]:
    rows = table.rows[:most]
    first = max(cell_len(name) for name, _, _ in rows)
    second = max(cell_len(figure) for _, figure, _ in rows)
    yield first_fitting(table.headings, width) or table.headings[-1]
    for name, figure, beside in rows:
        line = f"  {set_cell_size(name, first)}  {set_cell_size(figure, second)}"
        if both := first_fitting((f"{line}  {text}".rstrip() for text in beside), width):
            yield both
            continue
        yield line.rstrip()
        below = (f"    {text}" for text in beside)
        if "" not in beside and (text := first_fitting(below, width)):
            yield text
    if more := len(table.rows) - len(rows):
        yield f"  and {formats.plural(more, 'more configuration')}: see the tables"
    yield from (f"  {note}" for note in table.notes)


def _tables(each: Rated, results: StudyResults) -> Iterator[Table]:
    """Capacity at each objective; without an objective latency at the middle rate."""
    found = results.ratios
    if not each.capacities:
        has_few_cores = bool(bounds(results.frame, [each.section]))
        yield from _latency(each, has_few_cores=has_few_cores)
    for objective in dict.fromkeys(one.objective for one in each.capacities):
        at_n = [one for one in each.headline_capacities if one.objective == objective]
        kind = _kind([one.estimate for one in at_n])
        heading = f"{each.label}: capacity at {objective.text}, N = {each.headline_n}"
        rows = []
        for one in at_n:
            ratio = over_processes(one, found)
            rows.append((_configuration(one.cell, each), one.text, _ratio(ratio) if ratio else ()))
        yield Table((f"{heading} ({kind})", heading), rows, _judged_over(found, at_n))


def _kind(values: Sequence[Estimate]) -> str:
    """What stands beside the figures: `95 % interval`, `range`, or nothing."""
    return bounds_heading(values) if any(value.n > 1 for value in values) else "single runs"


def _judged_over(found: Ratios, every: Sequence[Capacity]) -> list[str]:
    over = [ratio.over for one in every if (ratio := over_processes(one, found))]
    notes = [BEYOND] if any(one.bound for one in every) else []
    notes += [UP_TO] if any(one.up_to for one in every) else []
    return [*_over(over), *notes]


def _latency(each: Rated, *, has_few_cores: bool) -> Iterator[Table]:
    rate, rows = each.middle_rate_per_s, each.headline
    column = next((c for c in COLUMNS if any(at.point.figures[c].n for _, at in rows)), None)
    if column is None:
        return
    if len(rows) > BESIDE_RATIOS:  # the lowest first: there may be no room for all
        rows.sort(key=lambda row: _or_last(row[1].point.figures[column].point))
    name = PERCENTILES[column]
    kind = _kind([at.point.figures[column] for _, at in rows])
    asked, n = formats.number(rate), f"N = {each.headline_n}"
    of = " of foreground requests" if has_background(each.section) else ""
    heading = f"{each.label}: {name} latency{of} at {asked} {each.sent}/s, {n}"
    short = f"{each.label}: {name} at {asked}/s, {n}"
    ratios = [each.ratio(line, rate) if column == COLUMNS[0] else None for line, _ in rows]
    if has_few_cores:  # what a request costs says more than a ratio that is not proven
        ratios = [one if one and one.verdict.is_decided else None for one in ratios]
    besides = [_ratio(ratio) if ratio else () for ratio in ratios]
    notes = _over([ratio.over for ratio in ratios if ratio])
    if not any(besides) or has_few_cores:
        costs = (_cpu(at) for _, at in rows)
        besides = [beside or cost for beside, cost in zip(besides, costs, strict=True)]
    if any(at.is_bound for _, at in rows):
        notes.append(f"{BOUND} the server fell behind: a lower bound")
    yield Table(
        (f"{heading} ({kind})", heading, short),
        [
            (_configuration(line.key, each), _latency_text(at, column), beside)
            for (line, at), beside in zip(rows, besides, strict=True)
        ],
        notes,
    )


def _or_last(figure: float) -> float:
    return math.inf if math.isnan(figure) else figure


def _latency_text(at: AtRate, column: str) -> str:
    value = in_ms(at.point.figures[column])
    return f"{BOUND if at.is_bound else ''}{value!s} ms" if value.n else formats.BLANK


def _cpu(at: AtRate) -> tuple[str, ...]:
    cpu = at.point.figures[CPU].scaled(US_PER_S, "µs")
    return (f"CPU {cpu!s} µs a request", f"CPU {cpu!s} µs", "") if cpu.n else ()


def _ratio(value: RatioVerdict) -> tuple[str, ...]:
    """The ratio with its verdict; below six blocks there is none."""
    if not value.n:
        return ()
    ratio, word = with_bounds(value), value.verdict.word
    if value.n < FEWEST_FOR_INTERVAL:
        return (ratio,)
    words = (verdict_text(value), briefly(value), word)
    return (*(f"{ratio} {each}" for each in words), f"{times(value)} {word}")


def _over(cells: Iterable[Cell]) -> list[str]:
    names = dict.fromkeys(f"{each.arm} · {each.model}" for each in cells)
    return [f"× is over {' or '.join(names)}"] if names else []


def _configuration(cell: Cell, each: Rated) -> str:
    return " · ".join([cell.arm, cell.model, *([cell.loop] if len(each.loops) > 1 else [])])
