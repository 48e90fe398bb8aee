"""The name of a figure, one language everywhere: README, results, notebooks, claims and commands.

    throughput_per_s workload=echo arm=3.14t workers=2 over.workers=1

A measure, then the cell as `field=value`; `parameters.payload_bytes=256` is a parameter, and fields
with `over.` are those of the cell that the measure is divided by. The study stands before it, where
it is not given: `my-machine/pgo: throughput_per_s …`. What can be named is in
`scaling.analysis.lookup.figure`.
"""

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from scaling.analysis.lookup.cells import FIELDS
from scaling.base.errors import UsageError, unknown

PARAMETER, OVER = "parameters.", "over."
NAMES = (*(name for name in FIELDS if name != "parameters"), f"{PARAMETER}NAME")
QUESTION, VERDICT, FAMILY = "question", "verdict", "family"  # of ratios
FAULT_FIELD = "fault"  # of a single run
WRITTEN = ("as", "in")  # how a text writes it
BESIDE = (QUESTION, VERDICT, FAMILY, FAULT_FIELD, *WRITTEN)
WHOLE = re.compile(r"[+-]?\d[\d_]*")
WORDS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class FigureName:
    """A measure of a cell, maybe over that of the same cell with some fields changed.

    `beside` has what is no field of a cell: of which question or fault it is, how it is written.
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
