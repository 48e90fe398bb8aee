"""A study's curves in the order in which they are shown: one section per workload and sizing.

A section is what shares one table and one figure. Runs are made in random order, so an order for
readers is made here: workloads and arms as the study names them, parameters by value.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

import pandas as pd

from scaling.analysis.curves.curve import Curve
from scaling.analysis.curves.summarise import curves
from scaling.analysis.table.labels import labels
from scaling.base.vocabulary import MODELS, SIZINGS
from scaling.journal.record import StudyLine
from scaling.study.load import open_loop_rate


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
    def title(self) -> str:
        """What the section is about."""
        return f"{self.label} · {self.sizing} sizing"


def sections(frame: pd.DataFrame, study: StudyLine) -> list[Section]:
    """The frame's curves, gathered and in order."""
    names = labels(frame)
    workloads, arms = list(study.workloads), list(study.arms)

    def subject(curve: Curve) -> tuple[object, ...]:
        key = curve.key
        place = (_place(key.workload, workloads), _by_value(key.parameters))
        return *place, _place(key.sizing, SIZINGS), key.workload, key.parameters

    def rank(curve: Curve) -> tuple[object, ...]:
        key = curve.key
        place = (key.study, key.loop, _place(key.arm, arms), _place(key.model, MODELS))
        return *subject(curve), *place

    found = []
    for _, group in groupby(sorted(curves(frame), key=rank), key=subject):
        members = list(group)
        key = members[0].key
        note = study.workloads.get(key.workload)
        operation = note.operation if note else "operations"
        label = names[key.workload, key.parameters]
        served = note is not None and note.served
        rate = open_loop_rate(json.loads(key.parameters)) if served else None
        found.append(Section(label, key.sizing, operation, members, rate))
    return found


def _place(name: str, order: Iterable[str]) -> tuple[int, str]:
    """Where a name stands in an order; unknown names after the known ones, by alphabet."""
    known = list(order)
    return (known.index(name), "") if name in known else (len(known), name)


def _by_value(parameters: str) -> tuple[tuple[str, float, str], ...]:
    """Parameters so that they sort by value: 256 before 1024, words by alphabet."""
    return tuple(
        (name, float(value), "")
        if isinstance(value, int | float)
        else (name, float("inf"), str(value))
        for name, value in json.loads(parameters).items()
    )


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
        label = names[row["workload"], row["parameters"]]
        who = f"{row['loop']} · {row['arm']} · {row['model']}"
        cell = f"{label} · {row['sizing']} · {who} · N = {row['workers']}"
        cell += " · A/A pair" if row["twin"] else ""
        key = (row["validity"], cell, ", ".join(row["reasons"]))
        gathered.setdefault(key, []).append("; ".join(row["details"]))
    return [
        RunIssue(validity, cell, len(details), reasons, details[0])
        for (validity, cell, reasons), details in sorted(gathered.items())
    ]
