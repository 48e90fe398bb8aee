"""A served workload in an open loop: what each configuration gives at each of its rates, as tables.

Sections that differ in the rate alone belong together. At a rate above what a configuration can
answer its queue grows for as long as the run lasts, so its latencies are lower bounds.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, product

import numpy as np

from scaling.analysis.blocks import server_behind
from scaling.analysis.comparison import Compared
from scaling.analysis.curves import Curve, Point
from scaling.analysis.ratios import Ratio, Ratios
from scaling.analysis.results import StudyResults
from scaling.analysis.sections import Section, Sweep
from scaling.analysis.served.capacity import Capacity, over_processes
from scaling.analysis.table.column import Shown
from scaling.analysis.table.columns import SHOWN
from scaling.analysis.table.groups import short_labels
from scaling.analysis.table.latency import BEYOND, PERCENTILES, fewest
from scaling.base import formats
from scaling.journal.record import Cell as CellOfStudy
from scaling.journal.record import StudyLine
from scaling.report.tables.findings import contrast_grids, named, ratios_note, stacked
from scaling.report.tables.grid import Cell, Grid, or_bound
from scaling.report.tables.measures import SUSPECT, runs_of
from scaling.study.load import RATE, middle
from scaling.study.questions import (
    CPU,
    MEMORY,
    OVER_PROCESSES,
    OVER_SERVER,
    P99,
    section_of,
    without_rate,
)


@dataclass(frozen=True, slots=True)
class AtRate:
    """One configuration at one rate; with `is_bound` its latencies are lower bounds."""

    rate_per_s: float
    curve: Curve
    point: Point
    is_bound: bool


@dataclass(frozen=True, slots=True)
class Line:
    """One configuration at all rates that it was run at, ascending. The key has no rate."""

    key: CellOfStudy
    workers: int
    at_rates: list[AtRate]

    def at(self, rate_per_s: float) -> AtRate | None:
        """The configuration at one rate; None where it was not run."""
        return next((each for each in self.at_rates if each.rate_per_s == rate_per_s), None)


@dataclass(frozen=True, slots=True)
class Rated:
    """One workload with one sizing and one set of parameters, at each rate.

    `label` names the workload with those of its other parameters that vary in the study; `section`
    has the curves of all rates, which are of what is `sent`, in the plural. `ratios` are of P99,
    `capacities` at the study's objectives.
    """

    label: str
    sent: str
    section: Section
    rates_per_s: list[float]
    lines: list[Line]
    ratios: list[Ratio]
    capacities: list[Capacity]

    @property
    def workers(self) -> list[int]:
        """Every N, ascending."""
        return sorted({line.workers for line in self.lines})

    @property
    def loops(self) -> list[str]:
        """The loops, in order."""
        return list(dict.fromkeys(line.key.loop for line in self.lines))

    @property
    def middle_rate_per_s(self) -> float:
        """The middle one of the rates: chosen by its place, not by what was measured there."""
        return middle(self.rates_per_s)

    @property
    def headline_n(self) -> int:
        """The largest N with a core for each worker."""
        return self.section.headline_n

    @property
    def headline(self) -> list[tuple[Line, AtRate]]:
        """What answers are about: the configurations at the headline N and the middle rate."""
        lines = (line for line in self.lines if line.workers == self.headline_n)
        return at_rate(lines, self.middle_rate_per_s)

    @property
    def headline_capacities(self) -> list[Capacity]:
        """Those at the headline N."""
        return [each for each in self.capacities if each.cell.workers == self.headline_n]

    def ratio(self, line: Line, rate_per_s: float) -> Ratio | None:
        """P99 of a configuration at a rate over that of processes; None where there is none."""
        found = (
            each
            for each in self.ratios
            if each.of.parameters[RATE] == rate_per_s
            and without_rate(each.of) == line.key.but(workers=line.workers)
        )
        return next(found, None)

    def on(self, loop: str, workers: int) -> list[Line]:
        """The configurations of a loop at N workers."""
        return [line for line in self.lines if (line.key.loop, line.workers) == (loop, workers)]


def at_rate(lines: Iterable[Line], rate_per_s: float) -> list[tuple[Line, AtRate]]:
    """Those of some configurations that were run at a rate, with what they gave there."""
    return [(line, at) for line in lines if (at := line.at(rate_per_s)) is not None]


def has_background(section: Section) -> bool:
    """Whether the load generator sent background requests, too, which are in no latency but their
    own.
    """
    points = (point for curve in section.curves for point in curve.points)
    return any(point.figures["background_requests"].n for point in points)


def is_served(key: CellOfStudy, study: StudyLine) -> bool:
    """Whether a load generator sent the requests of a curve."""
    note = study.workloads.get(key.workload)
    return note is not None and note.served


def rated(results: StudyResults) -> list[Rated]:
    """What a study has of served workloads in an open loop, in the order of its sections."""
    groups: dict[CellOfStudy, list[tuple[float, Section]]] = defaultdict(list)
    for section in results.sections:
        if (rate := section.rate_per_s) is not None:
            key = section_of(without_rate(section.curves[0].key))
            groups[key].append((rate, section))
    names = short_labels(
        ((key.workload, key.parameters) for key in groups), simulated=results.study.simulated
    )
    p99s = [
        ratio for name in (OVER_PROCESSES, OVER_SERVER) for ratio in results.ratios.where(name, P99)
    ]
    found = []
    for key, members in groups.items():
        members.sort(key=lambda each: each[0])
        curves = list(chain.from_iterable(section.curves for _, section in members))
        label, operation = names[key.workload, key.parameters], members[0][1].operation
        found.append(
            Rated(
                label,
                results.study.workloads[key.workload].sent,
                Section(label, key.sizing, operation, curves),
                list(dict.fromkeys(rate for rate, _ in members)),
                _lines(members, results),
                [each for each in p99s if section_of(without_rate(each.of)) == key],
                [each for each in results.capacities if section_of(each.cell) == key],
            )
        )
    return found


def _lines(members: Sequence[tuple[float, Section]], results: StudyResults) -> list[Line]:
    found: dict[CellOfStudy, list[AtRate]] = defaultdict(list)
    for rate, section in members:
        for curve in section.curves:
            for point in curve.points:
                cell = curve.key.but(workers=point.workers)
                is_bound = _fell_behind(cell, results)
                found[without_rate(cell)].append(AtRate(rate, curve, point, is_bound))
    curves = list(dict.fromkeys(cell.but(workers=0) for cell in found))
    order = sorted(found, key=lambda cell: (curves.index(cell.but(workers=0)), cell.workers))
    return [Line(cell.but(workers=0), cell.workers, found[cell]) for cell in order]


def _fell_behind(cell: CellOfStudy, results: StudyResults) -> bool:
    """Whether half of its runs or more fell behind: its medians are lower bounds."""
    behind = results.blocks.of(cell, "reasons", server_behind)
    known = behind[np.isfinite(behind)]
    return bool(len(known) and known.mean() >= 0.5)


def has_open_loop(results: StudyResults) -> bool:
    """Whether requests were due at times fixed beforehand in any of a study's sections."""
    return any(each.rate_per_s is not None for each in results.sections)


def free_sections(results: StudyResults) -> list[Section]:
    """Every section but those in an open loop, in which throughput is what was asked for.

    Controls are last.
    """
    found = [each for each in results.sections if each.rate_per_s is None]
    return sorted(found, key=lambda each: each.is_control)


def free_running(results: StudyResults) -> list[Compared]:
    """The comparisons of those sections."""
    found = [each for each in results.judged if each.section.rate_per_s is None]
    return sorted(found, key=lambda each: each.section.is_control)


def free_sweeps(results: StudyResults) -> list[Sweep]:
    """The sweeps of a study but those over the rate of an open loop."""
    return [
        sweep
        for sweep in results.sweeps
        if sweep.parameter != RATE or all(section.rate_per_s is None for section in sweep.sections)
    ]


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


def rate_grids(of: Rated) -> list[Grid]:
    """A table for each loop and N: at each rate a row for each configuration."""
    return [
        _grid(title, [row for rate in of.rates_per_s for row in at_rate(lines, rate)], of)
        for title, lines in _parts(of)
    ]


def percentile_grids(of: Rated) -> list[Grid]:
    """The same at the middle rate only."""
    rate = of.middle_rate_per_s
    found = []
    for title, lines in _parts(of):
        if rows := at_rate(lines, rate):
            found.append(_grid(f"{title}, {formats.number(rate)}/s", rows, of))
    return found


def _parts(of: Rated) -> Iterable[tuple[str, list[Line]]]:
    """The configurations of each loop and N, with the words for both."""
    for loop, n in product(of.loops, of.workers):
        if lines := of.on(loop, n):
            yield f"{of.label} · {loop}, N = {n}", lines


def _grid(title: str, rows: Sequence[tuple[Line, AtRate]], of: Rated) -> Grid:
    points = [at.point for _, at in rows]
    shown = {
        name: column.shown
        for name in COLUMNS
        if (column := SHOWN.get(name)) and column.shown
        if any(point.figures[name].n for point in points)
    }
    headings = [each.heading.format(operation=of.section.operation) for each in shown.values()]
    ratios = [of.ratio(line, at.rate_per_s) for line, at in rows]
    cells = [_row(line, at, shown) for line, at in rows]
    in_background = has_background(of.section)
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
    rate = f"{formats.number(at.rate_per_s)}{BEHIND if at.is_bound else ''}"
    figures: list[Cell] = [
        at.point.figures[column].scaled(each.factor, each.heading)
        if at.point.figures[column].n
        else formats.BLANK
        for column, each in shown.items()
    ]
    return [rate, stacked(line.key), runs_of(at.point), *figures]


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


def capacity_grids(of: Rated, found: Ratios) -> list[Grid]:
    """A table for each objective and loop, with a row for each configuration and N."""
    groups = dict.fromkeys((each.objective, each.cell.loop) for each in of.capacities)
    return [
        _capacity_grid(
            f"{of.label} · {loop}: capacity at {objective.text}",
            of.sent,
            [
                each
                for each in of.capacities
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
    return Grid(title, headings, rows, 2, "\n".join(notes)).columns(shown)


def _capacity_row(each: Capacity, found: Ratios) -> list[Cell]:
    cell, ratio = each.cell, over_processes(each, found)
    return [
        str(cell.workers),
        stacked(cell),
        str(each.estimate.n),
        or_bound(each.estimate, each.bound),
        each.up_to,
        or_bound(each.per_core, each.bound),
        or_bound(each.per_gib, each.bound),
        ratio or "",
    ]
