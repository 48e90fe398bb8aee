"""Where a figure in a text is from, as the comment behind it says.

    1.94 (1.92–1.97)<!-- pgo: throughput_per_s workload=echo arm=3.14t workers=2 over.workers=1 -->

Before the colon stands a folder of results, then a measure, then the cell, field by field, as
`scaling.figure` takes them; `parameters.payload_bytes=256` is a parameter, and with `over.` before
it a field is of the cell that the measure is divided by. `as=` says how the figure is written,
`in=` in which unit. Of a whole study there are `date`, `blocks`, `runs` and `minutes`. How many of
all claims hold against the studies is `claims: hold`; `scaling.report.quotes.lookup` has what else
counts. A folder further down is told with its path: `my-machine/pgo: …`, `my-machine/claims: hold`.
"""

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from scaling.analysis.lookup.named_cell import FIELDS
from scaling.base.errors import UsageError
from scaling.base.suggest import unknown
from scaling.report.quotes.form import Form, form

PARAMETER, OVER = "parameters.", "over."
NAMES = (*(name for name in FIELDS if name != "parameters"), f"{PARAMETER}NAME")
WHOLE = re.compile(r"[+-]?\d[\d_]*")
WORDS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Source:
    """A folder of results, a measure, a cell and how the figure is written."""

    results: str
    measure: str
    cell: dict[str, object]
    over: dict[str, object] | None
    form: Form


def parse(comment: str) -> Source:
    """Read a comment, without the arrows around it.

    Raises:
        UsageError: a word of it makes no sense.
    """
    results, _, rest = comment.partition(":")
    try:
        measure, *words = shlex.split(rest)
    except ValueError:  # no word at all, or a quotation mark without its other
        raise UsageError(f"expected RESULTS: MEASURE field=value …, got {comment!r}") from None
    said = _pairs(words)
    written = form(said.pop("as", ""), said.pop("in", ""))
    over = {name.removeprefix(OVER): said.pop(name) for name in list(said) if name.startswith(OVER)}
    return Source(results, measure, _cell(said), _cell(over) if over else None, written)


def _pairs(words: Iterable[str]) -> dict[str, str]:
    said: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name or not value:
            raise UsageError(f"expected field=value, got {word!r}")
        if name in said:
            raise UsageError(f"{name} is said twice")
        said[name] = value
    return said


def _cell(said: Mapping[str, str]) -> dict[str, object]:
    """The fields of a cell in the types that they have there."""
    cell: dict[str, Any] = {}
    for name, text in said.items():
        if name.startswith(PARAMETER):
            cell.setdefault("parameters", {})[name.removeprefix(PARAMETER)] = _value(text)
        elif name not in NAMES:
            raise unknown("field", name, [*NAMES, "as", "in"])
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
