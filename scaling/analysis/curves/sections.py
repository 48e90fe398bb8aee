"""A study's curves in the order in which they are shown: one section per workload and sizing.

A section is what shares one table and one figure. Runs are made in random order, so an order for
readers is made here: workloads and arms as the study names them, parameters by value.
"""

from dataclasses import dataclass
from itertools import groupby

import pandas as pd

from scaling.analysis.curves.curve import Curve
from scaling.analysis.curves.memory import MemoryKind
from scaling.analysis.curves.summarise import curves
from scaling.analysis.table.groups import in_order
from scaling.analysis.table.labels import labels
from scaling.journal.record import Parameters, StudyLine
from scaling.study.controls import CONTROLS
from scaling.study.load import open_loop_rate
from scaling.study.questions import section_of


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
