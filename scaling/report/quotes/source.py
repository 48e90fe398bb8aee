"""The source of a figure, as `figures.toml` or the comment after the figure has it.

    1.94 (1.92–1.97)<!-- pgo: throughput_per_s workload=echo arm=3.14t workers=2 over.workers=1 -->

A source is a folder of results, a colon, a measure, and the cell as `field=value`, as
`scaling.figure` takes them. `parameters.payload_bytes=256` is a parameter; fields with `over.` are
those of the cell that the measure is divided by. `as=` says how the figure is written, `in=` in
which unit; with `as=verdict` the verdict on a ratio is written, and not the ratio, with `as=words`
by how much or why, too. Facts about a
whole study are `date`, `blocks`, `runs` and `minutes`. `noise.throughput workload=echo` is by how
much A/A pairs differ; other measures that have noise are named the same. `capacity`,
`capacity_per_core` and `capacity_per_gib` are those at a study's objective. `soak.FIGURE` and
`fault.FIGURE` are of single runs (`scaling.report.quotes.single_runs`). `claims: hold` counts
claims (`scaling.report.quotes.lookup` has the other counts), and `verdicts: MEASURE field=value …`
counts ratios, by `question`, `verdict` and `family` as in `comparison.csv`, too. `aa-pairs:
pairs.throughput` counts A/A pairs, `unequal.throughput` those that differ at 5 %, and
`different.throughput` those that the rule of verdicts calls different. A folder further down is
named by its path: `my-machine/pgo: …`, `my-machine/claims: hold`.
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
COUNTED = ("question", "verdict", "family")  # of ratios
FAULT_FIELD = "fault"  # of a single run
WHOLE = re.compile(r"[+-]?\d[\d_]*")
WORDS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class QuoteSource:
    """A folder of results, a measure, a cell and how the figure is written.

    `only` has what ratios must have to be counted, besides the cell. `fault` names that of a single
    run.
    """

    results: str
    measure: str
    cell: dict[str, object]
    over: dict[str, object] | None
    form: Form
    only: dict[str, str]
    fault: str = ""


def parse(source: str) -> QuoteSource:
    """Read a source.

    Raises:
        UsageError: a word of it cannot be read.
    """
    results, _, rest = source.partition(":")
    try:
        measure, *words = shlex.split(rest)
    except ValueError:  # no word at all, or a quotation mark without its other
        raise UsageError(f"expected RESULTS: MEASURE field=value …, got {source!r}") from None
    given = _pairs(words)
    written = form(given.pop("as", ""), given.pop("in", ""))
    over = {
        name.removeprefix(OVER): given.pop(name) for name in list(given) if name.startswith(OVER)
    }
    only = {name: given.pop(name) for name in COUNTED if name in given}
    fault = given.pop(FAULT_FIELD, "")
    divisor = _cell(over) if over else None
    return QuoteSource(results, measure, _cell(given), divisor, written, only, fault)


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
