"""A study's curves in the order in which they are shown: sections, and sweeps across them.

A section has one workload, its parameters and sizing. Sections that differ in one parameter alone
are one sweep. A study that varies two parameters has, for each value of one, a sweep of the other.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Any

import pandas as pd

from scaling.analysis.curves import Curve, MemoryKind, Point, curves
from scaling.analysis.table.groups import in_order, labels, short_labels
from scaling.journal.record import Cell, Parameters, ParameterValue, StudyLine
from scaling.study.controls import CONTROLS
from scaling.study.load import OVERLOAD, open_loop_rate
from scaling.study.questions import section_of

# ----------------------------------------------------------------------------------------- sections
# A study's curves in the order in which they are shown: one section per workload and sizing.
#
# A section is what shares one table and one figure. Runs are made in random order, so an order for
# readers is made here: workloads and arms as the study names them, parameters by value.


@dataclass(frozen=True, slots=True)
class Section:
    """The curves of one workload with one set of parameters at one sizing.

    `label` names the workload with those parameters that vary in the study; `operation` is the
    plural noun of what it counts. `rate_per_s` is the rate of an open loop, at which throughput is
    the schedule's; None for all others.
    """

    label: str
    sizing: str
    operation: str
    curves: list[Curve]
    rate_per_s: float | None = None

    @property
    def is_control(self) -> bool:
        """Whether its workload is there as a control: of less interest to readers than others."""
        return self.curves[0].key.workload in CONTROLS

    @property
    def headline_n(self) -> int:
        """The largest N with a core for each worker; the largest of all where there is none."""
        points = [point for curve in self.curves for point in curve.points]
        on_cores = [point.workers for point in points if point.region == "cores"]
        return max(on_cores or [point.workers for point in points])

    @property
    def title(self) -> str:
        """What the section is about."""
        return f"{self.label} · {self.sizing} sizing"

    @property
    def memory_kind(self) -> MemoryKind:
        """Which reading of memory its curves have, one and the same."""
        return self.curves[0].memory_kind


def sections(frame: pd.DataFrame, study: StudyLine) -> list[Section]:
    """The frame's curves, gathered and in order."""
    names = labels(frame)
    place = in_order(study)

    def rank(curve: Curve) -> tuple[object, ...]:
        return *place(section_of(curve.key)), curve.study, *place(curve.key)

    found = []
    for key, group in groupby(sorted(curves(frame), key=rank), key=lambda c: section_of(c.key)):
        members = list(group)
        note = study.workloads.get(key.workload)
        operation = note.operation if note else "operations"
        label = names[key.workload, Parameters.of(key.parameters)]
        served = note is not None and note.served
        rate = open_loop_rate(key.parameters) if served else None
        found.append(Section(label, key.sizing, operation, members, rate))
    return found


@dataclass(frozen=True, slots=True)
class RunIssue:
    """Runs of one cell, invalid or suspect for the same reasons; `detail` is of the first."""

    validity: str
    cell: str
    runs: int
    reasons: str
    detail: str


def run_issues(frame: pd.DataFrame) -> list[RunIssue]:
    """Every run that is not simply valid, gathered by cell and reasons, the invalid ones first.

    The second of an A/A pair is named as one: what is wrong with it is wrong with the noise floor.
    """
    names = labels(frame)
    gathered: dict[tuple[str, str, str], list[str]] = {}
    for row in frame[frame["validity"] != "valid"].to_dict("records"):
        label = names[row["workload"], Parameters.read(row["parameters"])]
        who = f"{row['loop']} · {row['arm']} · {row['model']}"
        cell = f"{label} · {row['sizing']} · {who} · N = {row['workers']}"
        cell += " · A/A pair" if row["twin"] else ""
        key = (row["validity"], cell, ", ".join(row["reasons"]))
        gathered.setdefault(key, []).append("; ".join(row["details"]))
    return [
        RunIssue(validity, cell, len(details), reasons, details[0])
        for (validity, cell, reasons), details in sorted(gathered.items())
    ]


# ------------------------------------------------------------------------------------------- sweeps


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
        return [curve.at(n) if curve else None for curve in self.curves]


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
