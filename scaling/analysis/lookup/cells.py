"""How a figure and its cell are named, one language everywhere, and which cell of a study is meant.

    throughput_per_s workload=echo arm=3.14t workers=2 over.workers=1

A measure, then the cell as `field=value`; `parameters.payload_bytes=256` is a parameter, and fields
with `over.` are those of the cell that the measure is divided by. The study stands before it, where
it is not given: `my-machine/pgo: throughput_per_s …`. What can be named is in
`scaling.analysis.lookup.figure`.
"""

import math
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from scaling.analysis.blocks import MEMORY_KINDS, PSS, RSS, Blocks, Series
from scaling.analysis.curves import ns_of_slope, slopes
from scaling.analysis.statistics.estimate import RATIO
from scaling.analysis.table.column import Noise
from scaling.analysis.table.columns import MEASURES
from scaling.analysis.table.run_fields import readable, unit_of
from scaling.base import formats
from scaling.base.errors import UsageError, nearest, unknown
from scaling.base.vocabulary import WORKER, WORKERS
from scaling.builds.runtimes import OWN_LOOP, RUNTIMES
from scaling.journal.record import Calibration, Cell
from scaling.study.load import RATE
from scaling.study.questions import THROUGHPUT, curve_of

FIELDS = ("workload", "arm", "loop", "model", "sizing", "parameters", "workers")
PARAMETER, OVER = "parameters.", "over."
NAMES = (*(name for name in FIELDS if name != "parameters"), f"{PARAMETER}NAME")
QUESTION, VERDICT, FAMILY = "question", "verdict", "family"  # of ratios
WRITTEN = ("as", "in")  # how a text writes it
BESIDE = (QUESTION, VERDICT, FAMILY, *WRITTEN)
WHOLE = re.compile(r"[+-]?\d[\d_]*")
WORDS = {"true": True, "false": False}

type Fields = Mapping[str, object]  # of a cell, by name: what they are, or must be
type Choice = Mapping[str, Collection[object]]  # of cells: what a field may be, by its name


@dataclass(frozen=True, slots=True)
class FigureName:
    """A measure of a cell, maybe over that of the same cell with some fields changed.

    `beside` has what is no field of a cell: of which question it is, how it is written.
    """

    measure: str
    cell: Mapping[str, object] = field(default_factory=dict)
    over: Mapping[str, object] | None = None
    beside: Mapping[str, str] = field(default_factory=dict)

    def take_no_cell(self, whole: str) -> None:
        """Raise `UsageError` if it names a cell."""
        if self.cell or self.over:
            raise UsageError(f"{self.measure} is a fact about {whole} and takes no cell")


def parse(text: str) -> tuple[str, FigureName]:
    """The study and the figure that `STUDY: MEASURE field=value …` names; the study may be empty.

    Raises:
        UsageError: a word of it cannot be read.
    """
    study, colon, rest = text.partition(":")
    if not colon or " " in study:
        study, rest = "", text
    try:
        measure, *words = shlex.split(rest)
    except ValueError:  # no word at all, or a quotation mark without its other
        raise UsageError(f"expected RESULTS: MEASURE field=value …, got {text!r}") from None
    given = _pairs(words)
    beside = {name: given.pop(name) for name in BESIDE if name in given}
    over = {
        name.removeprefix(OVER): given.pop(name) for name in list(given) if name.startswith(OVER)
    }
    return study, FigureName(measure, _cell(given), _cell(over) if over else None, beside)


def named(text: str) -> FigureName:
    """The figure that `MEASURE field=value …` names, of a study that is given beside it.

    Raises:
        UsageError: a word of it cannot be read, or it names a study.
    """
    study, name = parse(text)
    if study:
        raise UsageError(f"expected MEASURE field=value …, without a study, got {text!r}")
    return name


def _pairs(words: Iterable[str]) -> dict[str, str]:
    given: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name or not value:
            raise UsageError(f"expected field=value, got {word!r}")
        if name in given:
            raise UsageError(f"{name} is given twice")
        given[name] = value
    return given


def _cell(given: Mapping[str, str]) -> dict[str, object]:
    """The fields of a cell in the types that they have there."""
    cell: dict[str, Any] = {}
    for name, text in given.items():
        if name.startswith(PARAMETER):
            cell.setdefault("parameters", {})[name.removeprefix(PARAMETER)] = _value(text)
        elif name not in NAMES:
            raise unknown("field", name, [*NAMES, *WRITTEN])
        else:
            cell[name] = _value(text) if name == "workers" else text
    return cell


def _value(text: str) -> bool | int | float | str:
    """`256` and `1_000_000` are whole numbers, `0.5` is a number, `true` a switch, others words."""
    if text in WORDS:
        return WORDS[text]
    if WHOLE.fullmatch(text):
        return int(text.replace("_", ""))
    try:
        return float(text)
    except ValueError:
        return text


# -------------------------------------------------------------------------------------------- cells
# What the fields of a cell must be that a user names, and the cell of a study that is meant.
#
# Fields may be left out: the default is asyncio, threads, weak sizing, and otherwise the only value
# that the study has. A rate may be named as in the study file: "40%" of the calibrated peak. If no
# cell fits, the error names the nearest one; if several do, the error says which field to add.

DEFAULTS = {"loop": "asyncio", "model": "threads", "sizing": "weak"}


class AbsentCellError(UsageError):
    """A study does not have a cell that was named.

    `distance` is in how many fields and parameters the nearest one differs; infinite where it does
    not have the workload.
    """

    def __init__(self, message: str, distance: float) -> None:
        super().__init__(message)
        self.distance = distance


def wanted(cell: Fields) -> dict[str, object]:
    """What the fields of a cell must be that is named so: those given, and the defaults.

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
    of_runtime = {"loop": OWN_LOOP} if cell.get("arm") in RUNTIMES else {}
    given = {name: value for name, value in cell.items() if value is not None}
    return DEFAULTS | of_runtime | given


def changed(cell: Fields, over: Fields) -> dict[str, object]:
    """The cell with the fields of `over`; of its parameters only those that `over` names."""
    merged = {**cell, **over}
    ours, theirs = cell.get("parameters"), over.get("parameters")
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        merged["parameters"] = {**ours, **theirs}
    return merged


def differing(cell: Cell, fields: Fields) -> dict[str, object]:
    """The fields of a cell that are not as they must be, with what they are; empty if it fits."""
    found = {
        name: getattr(cell, name)
        for name, value in fields.items()
        if name != "parameters" and getattr(cell, name) != value
    }
    parameters = {
        name: cell.parameters.get(name)
        for name, value in _parameters(fields).items()
        if name not in cell.parameters or not _same(value, cell.parameters[name])
    }
    return {**found, **({"parameters": parameters} if parameters else {})}


def is_chosen(cell: Cell, choice: Choice) -> bool:
    """Whether each field of a cell is one of the values that it may be."""
    return all(
        any(not differing(cell, {field: value}) for value in values)
        for field, values in choice.items()
    )


def cell_of(blocks: Blocks, fields: Fields, cells: Sequence[Cell] | None = None) -> Cell:
    """The cell that is named so, of all in the study or of some; without an N its curve (N is 0).

    Raises:
        AbsentCellError: there is none.
        UsageError: there are several.
    """
    cells = blocks.cells if cells is None else cells
    study = blocks.study
    fields = _at_rate(fields, study.calibrations)
    found = [each for each in cells if not differing(each, fields)]
    if not found:
        raise _absent(fields, cells, study.name)
    curves = list(dict.fromkeys(map(curve_of, found)))
    if len(curves) > 1:
        raise UsageError(f"{study.name} has several {text(fields)}; {_to_name(curves)}")
    return found[0] if "workers" in fields else curves[0]


def text(fields: Fields) -> str:
    """`echo on uvloop, 3.14t, 2 threads, payload_bytes=256`."""
    arm = [str(fields["arm"])] if "arm" in fields else []
    sizing = fields["sizing"]
    of_sizing = [] if sizing == DEFAULTS["sizing"] else [f"{sizing} sizing"]
    place = f"{fields['workload']} on {fields['loop']}"
    return ", ".join([place, *arm, _at(fields), *of_sizing, *_spelt(_parameters(fields))])


def part(fields: Fields, named: Iterable[str]) -> str:
    """What some fields are, of the parameters all that are there: `3.14, 1 thread`."""
    words = [str(fields[name]) for name in ("workload", "arm", "loop") if name in named]
    if "model" in named or "workers" in named:
        words.append(_at(fields))
    if "sizing" in named:
        words.append(f"{fields['sizing']} sizing")
    return ", ".join([*words, *_spelt(_parameters(fields))])


def _at(fields: Fields) -> str:
    """`1 thread`, `2 processes`; without an N the model alone."""
    model, workers = str(fields["model"]), fields.get("workers")
    if workers == 1:
        return f"1 {WORKER.get(model, model)}"
    several = WORKERS.get(model, model)
    return several if workers is None else f"{workers:,} {several}"


def _parameters(fields: Fields) -> Mapping[str, object]:
    found = fields.get("parameters", {})
    return found if isinstance(found, Mapping) else {}


def _at_rate(fields: Fields, calibrations: Iterable[Calibration]) -> Fields:
    """The fields with the number that the rate's name stands for, if the study has just one."""
    parameters = _parameters(fields)
    rate = parameters.get(RATE)
    rates = {
        each.rates[rate]
        for each in calibrations
        if each.workload == fields["workload"] and isinstance(rate, str) and rate in each.rates
        if all(_same(each.parameters.get(n, v), v) for n, v in parameters.items())
    }
    if len(rates) != 1:
        return fields
    return {**fields, "parameters": {**parameters, RATE: rates.pop()}}


def _absent(fields: Fields, there: Sequence[Cell], study: str) -> AbsentCellError:
    """Says what there is: of the workload the cell that differs least, else other workloads."""

    def distance(cell: Cell) -> int:
        found = differing(cell, fields)
        return len(found) - ("parameters" in found) + len(_parameters(found))

    absent = f"{study} has no {text(fields)}"
    same_workload = [each for each in there if each.workload == fields["workload"]]
    if not same_workload:
        others = ", ".join(dict.fromkeys(each.workload for each in there))
        return AbsentCellError(f"{absent}; its workloads: {others}", math.inf)
    nearest = min(same_workload, key=distance)
    differs = differing(nearest, fields)
    whole = {name: getattr(nearest, name) for name in FIELDS}
    instead = part(whole | {"parameters": _parameters(differs)}, differs)
    return AbsentCellError(f"{absent}; the nearest has {instead}", distance(nearest))


def _to_name(curves: Sequence[Cell]) -> str:
    """What to name: the arm, or the parameters that have several values."""
    arms = list(dict.fromkeys(each.arm for each in curves))
    if len(arms) > 1:
        return f"name the arm: {' or '.join(arms)}"
    sets = [each.parameters for each in curves]
    several = []
    for name in dict.fromkeys(name for each in sets for name in each):
        values = list(dict.fromkeys(formats.parameter(each.get(name)) for each in sets))
        if len(values) > 1:
            several.append(f"{name} ({' or '.join(values)})")
    return f"name the parameter {' and '.join(several)}"


def _spelt(parameters: Fields) -> list[str]:
    return [
        f"no {name}" if value is None else f"{name}={formats.parameter(value)}"
        for name, value in parameters.items()
    ]


def _same(one: object, other: object) -> bool:
    """Whether two values of a parameter are one: 1 is 1.0, and is not true."""
    return isinstance(one, bool) == isinstance(other, bool) and one == other


# ----------------------------------------------------------------------------------------- measures
# What can be looked up of a cell: its values block by block, its unit, its name in words.
#
# Most measures are a column of the frame (`scaling.analysis.table.columns.MEASURES`) or a figure of
# the workload's own; a speed-up also needs N = 1, a slope every N of the curve.

MEMORY, SLOPE = "memory_mib", "memory_slope_mib"
OVER_ONE = ("speedup", "efficiency")  # over N = 1 of the same curve


class Measure(NamedTuple):
    """Something that can be looked up; `noise` is the measure whose noise it has."""

    words: str
    unit: str
    series: Callable[[Blocks, Cell], Series]
    noise: Noise = "throughput"


def is_of_a_curve(measure: str) -> bool:
    """Whether it is a figure of all Ns of a curve, and not of one."""
    return measure == SLOPE


def measure_of(blocks: Blocks, name: str, cells: Sequence[Cell]) -> Measure:
    """The measure of that name, of one cell or of two that are to be compared.

    Of memory it is PSS, or RSS where the section of one of the cells has no PSS.

    Raises:
        AbsentCellError: it is over N = 1, which the study does not have.
        UsageError: none of that name is known, and no run of the cells has it as its own.
    """
    if name in (MEMORY, SLOPE):
        column = PSS if all(blocks.memory_column(each) == PSS for each in cells) else RSS
        kind = MEMORY_KINDS[column]
        if name == MEMORY:
            return Measure(kind, "MiB", _column(column), kind)
        unit = "MiB per extra worker"
        return Measure(f"{kind} per extra worker", unit, lambda b, c: _slope(b, c, column), kind)
    if name in OVER_ONE and not all(each.but(workers=1) in blocks.place for each in cells):
        message = f"{name} is over N = 1, which {blocks.study.name} does not have"
        raise AbsentCellError(message, distance=1)
    if name in WORKED_OUT:
        return WORKED_OUT[name]
    if declared := MEASURES.get(name):
        note = blocks.study.workloads.get(cells[0].workload)
        operation = note.operation if note else "operations"
        unit = f"{operation}/s" if name == THROUGHPUT else declared.unit
        return Measure(declared.words or readable(name), unit, _column(name), declared.noise)
    own = dict.fromkeys(figure for cell in cells for figure in blocks.own_figures(cell))
    if name in own:
        return Measure(readable(name), unit_of(name), _column(name))
    others = [*own, *WORKED_OUT, MEMORY, SLOPE]
    meant = nearest(name, [*others, *MEASURES])
    hint = f" Did you mean {meant!r}?" if meant else ""
    there = f"There are the numbers of a frame, and {', '.join(others)}."
    raise UsageError(f"unknown measure {name!r}.{hint} {there}")


def _column(name: str) -> Callable[[Blocks, Cell], Series]:
    return lambda blocks, cell: blocks.series(cell, name)


def _s_per_op(blocks: Blocks, cell: Cell) -> Series:
    return Series.exact(1 / blocks.of(cell, THROUGHPUT))


def _speedup(blocks: Blocks, cell: Cell) -> Series:
    return blocks.ratio(cell, cell.but(workers=1), THROUGHPUT)


def _efficiency(blocks: Blocks, cell: Cell) -> Series:
    return Series.exact(_speedup(blocks, cell).values / cell.workers)


def _slope(blocks: Blocks, curve: Cell, column: str) -> Series:
    """What each extra worker adds, over the Ns of the curve that a slope is over."""
    every = blocks.measured((c for c in blocks.cells if curve_of(c) == curve), column)
    inside = ns_of_slope([blocks.region(each) for each in every])
    values = np.array([blocks.series(each, column).values for each in every])
    if not every:
        return Series.exact(np.full(len(blocks.blocks), np.nan))
    workers = np.array([each.workers for each in every])
    return Series.exact(slopes(values[inside].T, workers[inside]))


WORKED_OUT = {
    "s_per_op": Measure("time per operation", "s", _s_per_op),
    "speedup": Measure("speed-up", RATIO, _speedup),
    "efficiency": Measure("efficiency", "", _efficiency),
}
