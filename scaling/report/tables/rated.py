"""A served workload in an open loop: what each configuration gives at each of its rates.

Sections that differ in the rate alone belong together. At a rate above what a configuration can
answer its queue grows for as long as the run lasts, so its latencies are lower bounds.
"""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

from scaling.analysis.comparison.compare import Compared
from scaling.analysis.curves.curve import Curve, Point
from scaling.analysis.curves.sections import Section
from scaling.analysis.curves.sweeps import Sweep
from scaling.analysis.results import StudyResults
from scaling.analysis.served.capacity import Capacity
from scaling.analysis.served.latency_ratios import LatencyRatio
from scaling.analysis.table.groups import CURVE, Key, fell_behind, originals
from scaling.analysis.table.labels import short_labels
from scaling.journal.record import StudyLine
from scaling.study.load import RATE, middle, open_loop_rate

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
    """One configuration at all rates that it was run at, ascending. The key has no parameters."""

    key: Key
    workers: int
    at_rates: list[AtRate]

    def at(self, rate_per_s: float) -> AtRate | None:
        """The configuration at one rate; None where it was not run."""
        return next((each for each in self.at_rates if each.rate_per_s == rate_per_s), None)


@dataclass(frozen=True, slots=True)
class Rated:
    """One workload with one sizing and one set of parameters, at each rate.

    `label` names the workload with those of its other parameters that vary in the study; `section`
    has the curves of all rates. `ratios` are of P99, `capacities` at the study's objectives.
    """

    label: str
    section: Section
    rates_per_s: list[float]
    lines: list[Line]
    ratios: list[LatencyRatio]
    capacities: list[Capacity]

    @property
    def title(self) -> str:
        """What it is about."""
        return self.section.title

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
        points = [at.point for line in self.lines for at in line.at_rates]
        on_cores = [point.workers for point in points if point.region == "cores"]
        return max(on_cores, default=max(self.workers))

    @property
    def has_background(self) -> bool:
        """Whether some of the requests are in no latency but their own."""
        return has_background(self.section)

    def ratio(self, line: Line, rate_per_s: float) -> LatencyRatio | None:
        """P99 of a configuration at a rate over that of processes; None where there is none."""
        configuration = line.key.arm, line.key.model, line.workers
        found = (
            each
            for each in self.ratios
            if (each.rate_per_s, each.subject.loop) == (rate_per_s, line.key.loop)
            and each.of[:3] == configuration
        )
        return next(found, None)

    def on(self, loop: str, workers: int) -> list[Line]:
        """The configurations of a loop at N workers."""
        return [line for line in self.lines if (line.key.loop, line.workers) == (loop, workers)]


def has_background(section: Section) -> bool:
    """Whether the load generator sent background requests, too."""
    points = (point for curve in section.curves for point in curve.points)
    return any(point.figures["background_requests"].n for point in points)


def is_served(section: Section, study: StudyLine) -> bool:
    """Whether a load generator sent the section's requests."""
    return _is_served(section.curves[0].key, study)


def rate_of(section: Section, study: StudyLine) -> float | None:
    """The rate at which a section's requests were due, per second; None for every other section.

    Others are those in a closed loop and those without a load generator.
    """
    key = section.curves[0].key
    return open_loop_rate(json.loads(key.parameters)) if _is_served(key, study) else None


def is_open_loop(key: Key, study: StudyLine) -> bool:
    """Whether the requests of a curve were due at times fixed beforehand."""
    return _is_served(key, study) and open_loop_rate(json.loads(key.parameters)) is not None


def _is_served(key: Key, study: StudyLine) -> bool:
    note = study.workloads.get(key.workload)
    return note is not None and note.served


def rated(results: StudyResults) -> list[Rated]:
    """What a study has of served workloads in an open loop, in the order of its sections."""
    groups: dict[tuple[str, str, str], list[tuple[float, Section]]] = defaultdict(list)
    for section in results.sections:
        if (rate := rate_of(section, results.study)) is not None:
            key = section.curves[0].key
            others = json.loads(key.parameters)
            del others[RATE]
            group = key.workload, json.dumps(others, sort_keys=True), key.sizing
            groups[group].append((rate, section))
    names = short_labels(
        ((workload, others) for workload, others, _ in groups),
        simulated=results.study.simulated,
    )
    behind = _behind(results) if groups else frozenset()
    found = []
    for group, members in groups.items():
        members.sort(key=lambda each: each[0])
        curves = list(chain.from_iterable(section.curves for _, section in members))
        workload, others, sizing = group
        label, operation = names[workload, others], members[0][1].operation
        found.append(
            Rated(
                label,
                Section(label, sizing, operation, curves),
                list(dict.fromkeys(rate for rate, _ in members)),
                _lines(members, behind),
                [each for each in results.latency_ratios if each.subject[:3] == group],
                _in_order(results.capacities.every, group, curves),
            )
        )
    return found


def _in_order(
    every: Sequence[Capacity], group: tuple[str, str, str], curves: Sequence[Curve]
) -> list[Capacity]:
    """The capacities of a group, in the order of its curves."""
    order = [(curve.key.loop, curve.key.arm, curve.key.model) for curve in curves]
    return sorted(
        (each for each in every if each.subject[:3] == group),
        key=lambda each: order.index((each.subject.loop, *each.configuration[:2])),
    )


type _Cell = tuple[Key, int]


def _lines(members: Sequence[tuple[float, Section]], behind: frozenset[_Cell]) -> list[Line]:
    found: dict[_Cell, list[AtRate]] = defaultdict(list)
    for rate, section in members:
        for curve in section.curves:
            for point in curve.points:
                line = replace(curve.key, parameters=""), point.workers
                is_bound = (curve.key, point.workers) in behind
                found[line].append(AtRate(rate, curve, point, is_bound))
    keys = list(dict.fromkeys(key for key, _ in found))
    order = sorted(found, key=lambda line: (keys.index(line[0]), line[1]))
    return [Line(*line, found[line]) for line in order]


def _behind(results: StudyResults) -> frozenset[_Cell]:
    """The cells of which half of the runs or more fell behind: their medians are lower bounds."""
    runs = originals(results.frame)
    used = runs[runs["valid"]]
    fell = used.assign(fell=fell_behind(used))
    shares = fell.groupby([*CURVE, "workers"], observed=True, sort=False)["fell"].mean()
    most = shares[shares >= 0.5].reset_index()[[*CURVE, "workers"]]
    return frozenset(
        (Key(*map(str, key)), int(workers))
        for *key, workers in most.itertuples(index=False, name=None)
    )


def has_open_loop(results: StudyResults) -> bool:
    """Whether requests were due at times fixed beforehand in any of a study's sections."""
    return any(rate_of(each, results.study) is not None for each in results.sections)


def free_sections(results: StudyResults) -> list[Section]:
    """Every section but those in an open loop, in which throughput is what was asked for."""
    return [each for each in results.sections if rate_of(each, results.study) is None]


def free_running(results: StudyResults) -> list[Compared]:
    """The comparisons of those sections."""
    study = results.study
    return [each for each in results.judged if rate_of(each.runs.section, study) is None]


def free_sweeps(results: StudyResults) -> list[Sweep]:
    """The sweeps of a study but those over the rate of an open loop."""
    return [
        sweep
        for sweep in results.sweeps
        if sweep.parameter != RATE
        or all(rate_of(section, results.study) is None for section in sweep.sections)
    ]
