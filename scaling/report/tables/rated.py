"""A served workload in an open loop: what each configuration gives at each of its rates.

Sections that differ in the rate alone belong together. At a rate above what a configuration can
answer its queue grows for as long as the run lasts, so its latencies are lower bounds.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from scaling.analysis.blocks import server_behind
from scaling.analysis.comparison import Compared
from scaling.analysis.curves import Curve, Point
from scaling.analysis.ratios import Ratio
from scaling.analysis.results import StudyResults
from scaling.analysis.sections import Section, Sweep
from scaling.analysis.served.capacity import Capacity
from scaling.analysis.table.groups import short_labels
from scaling.journal.record import Cell, StudyLine
from scaling.study.load import RATE, middle
from scaling.study.questions import OVER_PROCESSES, OVER_SERVER, P99, section_of, without_rate

# Columns of percentiles, with their names and the share of the requests that are no slower.
PERCENTILES = {
    "latency_p50_s": ("P50", 0.5),
    "latency_p90_s": ("P90", 0.9),
    "latency_p95_s": ("P95", 0.95),
    "latency_p99_s": ("P99", 0.99),
    "latency_p999_s": ("P99.9", 0.999),
}


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

    key: Cell
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


def is_served(key: Cell, study: StudyLine) -> bool:
    """Whether a load generator sent the requests of a curve."""
    note = study.workloads.get(key.workload)
    return note is not None and note.served


def rated(results: StudyResults) -> list[Rated]:
    """What a study has of served workloads in an open loop, in the order of its sections."""
    groups: dict[Cell, list[tuple[float, Section]]] = defaultdict(list)
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
    found: dict[Cell, list[AtRate]] = defaultdict(list)
    for rate, section in members:
        for curve in section.curves:
            for point in curve.points:
                cell = curve.key.but(workers=point.workers)
                is_bound = _fell_behind(cell, results)
                found[without_rate(cell)].append(AtRate(rate, curve, point, is_bound))
    curves = list(dict.fromkeys(cell.but(workers=0) for cell in found))
    order = sorted(found, key=lambda cell: (curves.index(cell.but(workers=0)), cell.workers))
    return [Line(cell.but(workers=0), cell.workers, found[cell]) for cell in order]


def _fell_behind(cell: Cell, results: StudyResults) -> bool:
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
