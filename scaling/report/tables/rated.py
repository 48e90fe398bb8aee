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
from scaling.analysis.table.groups import CURVE, Key, originals
from scaling.analysis.table.labels import short_labels
from scaling.journal.record import StudyLine
from scaling.study.load import CLOSED, RATE

# Columns of percentiles, with their names and the share of the requests that are no slower.
PERCENTILES = {
    "latency_p50_s": ("P50", 0.5),
    "latency_p90_s": ("P90", 0.9),
    "latency_p95_s": ("P95", 0.95),
    "latency_p99_s": ("P99", 0.99),
    "latency_p999_s": ("P99.9", 0.999),
}
SATURATED = "saturated"  # the reason of runs in which the server fell behind


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
    has the curves of all rates.
    """

    label: str
    section: Section
    rates_per_s: list[float]
    lines: list[Line]

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
        return self.rates_per_s[(len(self.rates_per_s) - 1) // 2]

    def on(self, loop: str, workers: int) -> list[Line]:
        """The configurations of a loop at N workers."""
        return [line for line in self.lines if (line.key.loop, line.workers) == (loop, workers)]


def is_served(section: Section, study: StudyLine) -> bool:
    """Whether a load generator sent the section's requests."""
    note = study.workloads.get(section.curves[0].key.workload)
    return note is not None and note.served


def rate_of(section: Section, study: StudyLine) -> float | None:
    """The rate at which a section's requests were due, per second; None for every other section.

    Others are those in a closed loop and those without a load generator.
    """
    if not is_served(section, study):
        return None
    key = section.curves[0].key
    rate = json.loads(key.parameters).get(RATE, CLOSED)
    return float(rate) if isinstance(rate, int | float) and rate > CLOSED else None


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
    names = short_labels((workload, others) for workload, others, _ in groups)
    behind = _behind(results) if groups else frozenset()
    return [
        _rated(names[workload, others], sorted(members, key=lambda each: each[0]), behind)
        for (workload, others, _), members in groups.items()
    ]


type _Cell = tuple[Key, int]


def _rated(label: str, members: Sequence[tuple[float, Section]], behind: frozenset[_Cell]) -> Rated:
    found: dict[_Cell, list[AtRate]] = defaultdict(list)
    for rate, section in members:
        for curve in section.curves:
            for point in curve.points:
                line = replace(curve.key, parameters=""), point.workers
                is_bound = (curve.key, point.workers) in behind
                found[line].append(AtRate(rate, curve, point, is_bound))
    first = members[0][1]
    curves = list(chain.from_iterable(section.curves for _, section in members))
    whole = Section(label, first.sizing, first.operation, curves)
    keys = list(dict.fromkeys(key for key, _ in found))
    order = sorted(found, key=lambda line: (keys.index(line[0]), line[1]))
    lines = [Line(*line, found[line]) for line in order]
    return Rated(label, whole, list(dict.fromkeys(rate for rate, _ in members)), lines)


def _behind(results: StudyResults) -> frozenset[_Cell]:
    """The cells of which half of the runs or more fell behind: their medians are lower bounds."""
    runs = originals(results.frame)
    used = runs[runs["valid"]]
    fell = used.assign(fell=[SATURATED in reasons for reasons in used["reasons"]])
    shares = fell.groupby([*CURVE, "workers"], observed=True, sort=False)["fell"].mean()
    most = shares[shares >= 0.5].reset_index()[[*CURVE, "workers"]]
    return frozenset(
        (Key(*map(str, key)), int(workers))
        for *key, workers in most.itertuples(index=False, name=None)
    )


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
