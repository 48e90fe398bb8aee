"""A cell as a user names it, and the runs of a study that it means.

Fields may be left out: the default is asyncio, threads, weak sizing, and otherwise the only value
that the study has. A rate may be named as in the study file: "40%" of the calibrated peak. If no
cell fits, the error names the nearest one; if several do, the error says which field to add.
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from scaling.analysis.table.groups import originals
from scaling.analysis.table.load import Journal
from scaling.base import formats
from scaling.base.errors import UsageError
from scaling.base.once import once_for_each
from scaling.base.suggest import unknown
from scaling.base.vocabulary import WORKER, WORKERS
from scaling.builds.runtimes.known import OWN_LOOP, RUNTIMES
from scaling.journal.record import Calibration
from scaling.study.load import RATE

PLACE = ["workload", "arm", "loop", "model", "sizing", "parameters"]  # what a curve's runs share
FIELDS = (*PLACE, "workers")
DEFAULTS = {"loop": "asyncio", "model": "threads", "sizing": "weak"}


class AbsentCellError(UsageError):
    """A study does not have a cell that was named.

    `distance` is in how many fields and parameters the nearest one differs; infinite where it does
    not have the workload.
    """

    def __init__(self, message: str, distance: float) -> None:
        super().__init__(message)
        self.distance = distance


@dataclass(frozen=True, slots=True)
class NamedCell:
    """A cell by name. An arm or N that is None, and a parameter that is left out, may be any."""

    workload: str
    arm: str | None
    loop: str
    model: str
    sizing: str
    workers: int | None
    parameters: Mapping[str, object] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """`echo on uvloop, 3.14t, 2 threads, payload_bytes=256`."""
        arm = [self.arm] if self.arm else []
        sizing = [] if self.sizing == DEFAULTS["sizing"] else [f"{self.sizing} sizing"]
        place = f"{self.workload} on {self.loop}"
        return ", ".join([place, *arm, self._at, *sizing, *_spelt(self.parameters)])

    def part(self, fields: Mapping[str, object]) -> str:
        """What these fields are here, of the parameters those named: `3.14, 1 thread`."""
        words = [str(getattr(self, name)) for name in ("workload", "arm", "loop") if name in fields]
        if "model" in fields or "workers" in fields:
            words.append(self._at)
        if "sizing" in fields:
            words.append(f"{self.sizing} sizing")
        return ", ".join([*words, *_spelt(_chosen(self.parameters, fields.get("parameters")))])

    def build_differences(self, other: "NamedCell") -> dict[str, object]:
        """The fields of `other` that do not match this cell; empty where all do."""
        fields = {
            name: getattr(other, name)
            for name in FIELDS
            if name != "parameters" and getattr(self, name) not in (None, getattr(other, name))
        }
        parameters = {
            name: other.parameters.get(name)
            for name, value in self.parameters.items()
            if name not in other.parameters or not _same(value, other.parameters[name])
        }
        return {**fields, **({"parameters": parameters} if parameters else {})}

    @property
    def _at(self) -> str:
        """`1 thread`, `2 processes`; without an N the model alone."""
        if self.workers == 1:
            return f"1 {WORKER.get(self.model, self.model)}"
        several = WORKERS.get(self.model, self.model)
        return several if self.workers is None else f"{self.workers:,} {several}"


def named(cell: Mapping[str, object]) -> NamedCell:
    """The cell that a mapping of frame fields names.

    Raises:
        UsageError: a field that no cell has, no workload, or a value of another kind.
    """
    for name in cell:
        if name not in FIELDS:
            raise unknown("field of a cell", name, FIELDS)
    if "workload" not in cell:
        raise UsageError("a cell is named by its workload, at least")
    parameters, workers = cell.get("parameters", {}), cell.get("workers")
    if not isinstance(parameters, Mapping):
        raise UsageError(f"parameters: expected names with values, got {parameters!r}")
    if workers is not None and (not isinstance(workers, int) or workers < 1):
        raise UsageError(f"workers: expected a whole number from 1 on, got {workers!r}")
    arm = cell.get("arm")
    loop = OWN_LOOP if arm in RUNTIMES else DEFAULTS["loop"]
    return NamedCell(
        workload=str(cell["workload"]),
        arm=None if arm is None else str(arm),
        loop=str(cell.get("loop", loop)),
        model=str(cell.get("model", DEFAULTS["model"])),
        sizing=str(cell.get("sizing", DEFAULTS["sizing"])),
        workers=workers,
        parameters=parameters,
    )


def changed(cell: Mapping[str, object], over: Mapping[str, object]) -> dict[str, object]:
    """The cell with the fields of `over`; of its parameters only those that `over` names."""
    merged = {**cell, **over}
    ours, theirs = cell.get("parameters"), over.get("parameters")
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        merged["parameters"] = {**ours, **theirs}
    return merged


class _Cells(NamedTuple):
    """The cells of a study, as rows of fields and by name."""

    rows: pd.DataFrame
    named: list[NamedCell]


@once_for_each
def _cells_of(journal: Journal) -> _Cells:
    rows = originals(journal.frame)[[*PLACE, "workers"]].drop_duplicates()
    return _Cells(rows, [_cell(*each) for each in rows.itertuples(index=False, name=None)])


def curve_of(journal: Journal, wanted: NamedCell) -> pd.DataFrame:
    """All runs of the curve that the cell is on, at every N, valid or not, without A/A duplicates.

    Raises:
        AbsentCellError: there is none.
        UsageError: there are several.
    """
    frame, study = journal.frame, journal.study
    wanted = _at_rate(wanted, study.calibrations)
    rows, there = _cells_of(journal)
    fit = [not wanted.build_differences(cell) for cell in there]
    if not any(fit):
        raise _not_there(wanted, there, study.name)
    found = rows.loc[fit, PLACE].drop_duplicates()
    if len(found) > 1:
        raise UsageError(f"{study.name} has several {wanted.text}; {_to_name(found)}")
    is_of_it = [frame[name] == found[name].iloc[0] for name in PLACE]
    return originals(frame[np.logical_and.reduce(is_of_it)])


def _at_rate(wanted: NamedCell, calibrations: Iterable[Calibration]) -> NamedCell:
    """The cell with the number that its rate's name stands for, if the study has just one."""
    rate = wanted.parameters.get(RATE)
    rates = {
        each.rates[rate]
        for each in calibrations
        if each.workload == wanted.workload and isinstance(rate, str) and rate in each.rates
        if all(_same(each.parameters.get(n, v), v) for n, v in wanted.parameters.items())
    }
    if len(rates) != 1:
        return wanted
    return replace(wanted, parameters={**wanted.parameters, RATE: rates.pop()})


def _cell(
    workload: str, arm: str, loop: str, model: str, sizing: str, parameters: str, workers: int
) -> NamedCell:
    """One that the study has; `parameters` are JSON."""
    return NamedCell(workload, arm, loop, model, sizing, workers, json.loads(parameters))


def _not_there(wanted: NamedCell, there: list[NamedCell], study: str) -> AbsentCellError:
    """Says what there is: of the workload the cell that differs least, else other workloads."""

    def distance(cell: NamedCell) -> int:
        fields = wanted.build_differences(cell)
        parameters = fields.pop("parameters", {})
        return len(fields) + (len(parameters) if isinstance(parameters, Mapping) else 0)

    absent = f"{study} has no {wanted.text}"
    same_workload = [cell for cell in there if cell.workload == wanted.workload]
    if not same_workload:
        others = ", ".join(dict.fromkeys(cell.workload for cell in there))
        return AbsentCellError(f"{absent}; its workloads: {others}", math.inf)
    nearest = min(same_workload, key=distance)
    instead = nearest.part(wanted.build_differences(nearest))
    return AbsentCellError(f"{absent}; the nearest has {instead}", distance(nearest))


def _to_name(found: pd.DataFrame) -> str:
    """What to name: the arm, or the parameters that have several values."""
    arms = list(dict.fromkeys(map(str, found["arm"])))
    if len(arms) > 1:
        return f"name the arm: {' or '.join(arms)}"
    sets = [json.loads(each) for each in found["parameters"]]
    several = []
    for name in dict.fromkeys(name for each in sets for name in each):
        values = list(dict.fromkeys(formats.parameter(each.get(name)) for each in sets))
        if len(values) > 1:
            several.append(f"{name} ({' or '.join(values)})")
    return f"name the parameter {' and '.join(several)}"


def _spelt(parameters: Mapping[str, object]) -> list[str]:
    return [
        f"no {name}" if value is None else f"{name}={formats.parameter(value)}"
        for name, value in parameters.items()
    ]


def _chosen(parameters: Mapping[str, object], names: object) -> dict[str, object]:
    """Those of the parameters that are named; None for one that there is not."""
    return {n: parameters.get(n) for n in names} if isinstance(names, Mapping) else {}


def _same(one: object, other: object) -> bool:
    """Whether two values of a parameter are one: 1 is 1.0, and is not true."""
    return isinstance(one, bool) == isinstance(other, bool) and one == other
