"""Sections compared across one parameter: how a figure changes with a size or a choice.

Sections that differ in one parameter alone are one sweep. A study that varies two parameters has,
for each value of one, a sweep of the other.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from scaling.analysis.curves.curve import Curve, Point
from scaling.analysis.curves.sections import Section
from scaling.analysis.table.labels import short_labels
from scaling.journal.record import Cell, Parameters, ParameterValue, StudyLine
from scaling.study.load import OVERLOAD


@dataclass(frozen=True, slots=True)
class Track:
    """One loop, arm and model at all values; None at values where it was not run."""

    key: Cell
    curves: list[Curve | None]

    @property
    def workers(self) -> list[int]:
        """Every N that it has at any value, ascending."""
        return sorted({n for curve in self.curves if curve for n in curve.workers})

    def at(self, n: int) -> list[Point | None]:
        """Its point at N workers for each value."""
        return [
            next((point for point in curve.points if point.workers == n), None) if curve else None
            for curve in self.curves
        ]


@dataclass(frozen=True, slots=True)
class Sweep:
    """The sections of one workload and sizing, one for each of the `values` of `parameter`.

    `label` names the workload with those of its other parameters that vary in the study. `tracks`
    are those that were run with several of the values.
    """

    label: str
    parameter: str
    values: list[ParameterValue]
    sections: list[Section]
    tracks: list[Track]

    @property
    def title(self) -> str:
        """What the sweep is about."""
        return f"{self.label} by {self.parameter} · {self.section.sizing} sizing"

    @property
    def section(self) -> Section:
        """All of its tracks' curves as one section."""
        first = self.sections[0]
        curves = [curve for track in self.tracks for curve in track.curves if curve]
        return Section(self.label, first.sizing, first.operation, curves)


def sweeps(sections: Iterable[Section], study: StudyLine) -> list[Sweep]:
    """Every sweep among a study's sections, in their order."""
    alike: dict[tuple[str, str], list[Section]] = defaultdict(list)
    for section in sections:
        alike[section.curves[0].key.workload, section.sizing].append(section)
    return [
        sweep
        for (workload, _), members in alike.items()
        for sweep in _sweeps(workload, members, study)
    ]


def _sweeps(workload: str, sections: Sequence[Section], study: StudyLine) -> list[Sweep]:
    read = [Parameters.of(section.curves[0].key.parameters) for section in sections]
    found = []
    for name in dict.fromkeys(chain.from_iterable(read)):
        if name == OVERLOAD:  # with and without one, a window shows different things
            continue
        groups: dict[Parameters, list[tuple[ParameterValue, Section]]] = defaultdict(list)
        for parameters, section in zip(read, sections, strict=True):
            if name in parameters:
                groups[parameters.without(name)].append((parameters[name], section))
        names = short_labels(((workload, others) for others in groups), simulated=study.simulated)
        order = _order(workload, name, study)
        for rest, members in groups.items():
            members.sort(key=lambda member: _rank(member[0], order))
            swept = [section for _, section in members]
            if tracks := _tracks(swept):
                values = [value for value, _ in members]
                found.append(Sweep(names[workload, rest], name, values, swept, tracks))
    return found


def _tracks(sections: Sequence[Section]) -> list[Track]:
    """Those with curves in several sections."""
    found: dict[Cell, list[Curve | None]] = {}
    for place, section in enumerate(sections):
        for curve in section.curves:
            key = curve.key.but(parameters={})
            found.setdefault(key, [None] * len(sections))[place] = curve
    several = {key: curves for key, curves in found.items() if sum(map(bool, curves)) > 1}
    return [Track(key, curves) for key, curves in several.items()]


def _rank(value: ParameterValue, order: list[ParameterValue]) -> tuple[float, int]:
    """Numbers by size; words in the order of the study."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value, 0
    return math.inf, order.index(value) if value in order else len(order)


def _order(workload: str, parameter: str, study: StudyLine) -> list[ParameterValue]:
    """The values in the order in which the study names them; none where it does not say."""
    entries: list[dict[str, Any]] = study.study.get("workloads") or []
    named = [e.get("parameters", {}).get(parameter) for e in entries if e.get("name") == workload]
    return [
        value
        for each in named
        if each is not None
        for value in (each if isinstance(each, list) else [each])
    ]
