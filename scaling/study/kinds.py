"""Kinds of values: one declaration from which check, message, flag and JSON Schema follow.

Options of studies and commands have a kind, and so have the parameters of workloads, which a child
declares in `--describe` (`scaling.study.settle`).
"""

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from scaling.base.errors import UsageError, unknown
from scaling.base.formats import SIZES, duration
from scaling.base.models import PATTERN, checked_model
from scaling.base.vocabulary import COUNT_WORDS

TYPES: Mapping[type, tuple[str, str]] = {  # in messages, in JSON Schema
    bool: ("true or false", "boolean"),
    int: ("a whole number", "integer"),
    float: ("a number", "number"),
    str: ("text", "string"),
}


def share(value: float | str) -> float:
    """`0.02` and `"2%"` as 0.02; NaN if it is no number."""
    text = str(value).strip()
    try:
        return float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        return math.nan


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of value: its type, its limits, and its names in messages.

    A value has the type `of`. A number is above `above`, from `least` to `most`, or `zero`. A text
    is one of `known`, which are names of a `what`, or matches `pattern`. A number may also be given
    as one of `words`, or as a text that matches `pattern` and that `number_in` reads (NaN: not a
    number). `kept` converts a value, or raises the error itself. With `several` the value is a
    list, which may be empty with `none`; on the command line `commas` separate it.

    Messages call the value `noun`, show an `example`, and write limits with `bound`. `metavar`
    stands for the value in `--help`; a kind without a metavar is a switch.
    """

    of: type = str
    above: float | None = None
    least: float | None = None
    most: float | None = None
    zero: bool = False
    known: Collection[object] = ()
    what: str = ""
    words: Sequence[str] = ()
    number_in: Callable[[str], float] | None = None
    pattern: str = ""
    kept: Callable[[Any, str], Any] | None = None
    several: bool = False
    commas: bool = True
    none: bool = False
    noun: str = ""
    example: str = ""
    bound: Callable[[float], str] = "{:,.10g}".format
    metavar: str = ""

    def check(self, value: object, where: str) -> Any:
        """The value as a study keeps it; a list becomes a tuple without duplicates.

        `where` begins the message: `mine.toml: blocks`, `--blocks`.

        Raises:
            UsageError: it is not of this kind.
        """
        if not self.several:
            return self._checked(value, where)
        if not isinstance(value, list | tuple):
            raise UsageError(f"{where}: expected a list, got {value!r}")
        if not value and not self.none:
            raise UsageError(f"{where}: the list is empty; leave the key out for the default")
        return tuple(dict.fromkeys(self._checked(each, where) for each in value))

    def of_texts(self, texts: Sequence[str], where: str) -> Any:
        """The checked value of a flag that was given with these texts.

        A list may be `1,2`, a repeated flag, or both. Otherwise the last text counts.

        Raises:
            UsageError: as `check`.
        """
        if not self.several:
            return self.check(self.typed(texts[-1]), where)
        parts = [part for text in texts for part in (text.split(",") if self.commas else [text])]
        if not all(map(str.strip, parts)):
            raise UsageError(
                f"{where}: expected values such as 1,2,4 or a,b, got {','.join(texts)!r}"
            )
        return self.check([self.typed(each.strip()) for each in parts], where)

    def typed(self, text: str) -> object:
        """A text of the command line as a value of the type; unchanged if it is none."""
        if self.of is bool:
            return {"true": True, "false": False}.get(text.casefold(), text)
        if not self.number_in:
            with suppress(ValueError):
                return self.of(text)
        return text

    def _checked(self, value: object, where: str) -> Any:
        if value in self.words:
            return value
        found = self.number_in(value) if self.number_in and isinstance(value, str) else value
        if self.of is float and type(found) is int:
            with suppress(OverflowError):
                found = float(found)
        if type(found) is not self.of or not (self.kept or self._is_within(found)):
            raise UsageError(f"{where}: expected {self.expected}, got {value!r}{self._hint(value)}")
        if self.known and found not in self.known:
            raise unknown(self.what, str(found), map(str, self.known), where=where)
        return self.kept(found, where) if self.kept else found

    def _is_within(self, value: Any) -> bool:
        if isinstance(value, str):
            return not self.pattern or re.fullmatch(self.pattern, value) is not None
        is_above = self.above is None or value > self.above
        is_least = self.least is None or value >= self.least
        is_most = self.most is None or value <= self.most
        is_between = math.isfinite(value) and is_above and is_least and is_most
        return is_between or (self.zero and value == 0)

    def _hint(self, value: object) -> str:
        """`Did you mean 5%?` for `5`, which people type."""
        per_cent = isinstance(value, str) and self.number_in is share and share(f"{value}%")
        return f". Did you mean {value}%?" if per_cent and self._is_within(per_cent) else ""

    @property
    def expected(self) -> str:
        """The values that are expected, for messages."""
        text = self.noun or TYPES[self.of][0]
        if self.above is not None:
            text += f" above {self.bound(self.above)}"
        if self.least is not None:
            text += f"{', at least' if self.most is None else ' from'} {self.bound(self.least)}"
        if self.most is not None:
            text += f"{', at most' if self.least is None else ' to'} {self.bound(self.most)}"
        if self.zero and self.least:
            text += " or 0"
        words = f" or {', '.join(self.words)}" if self.words else ""
        return text + words + (f", such as {self.example}" if self.example else "")

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of a value in a study file."""
        one: dict[str, Any] = {"type": TYPES[self.of][1]}
        bounds = {"exclusiveMinimum": self.above, "minimum": self.least, "maximum": self.most}
        one |= {name: bound for name, bound in bounds.items() if bound is not None}
        if self.known:
            one["enum"] = list(self.known)
        text: dict[str, Any] = {"type": "string", "pattern": self.pattern} if self.pattern else {}
        if self.words:
            text = {"type": "string", "enum": list(self.words)}
        if text:
            one = text if self.of is str else {"anyOf": [one, text]}
        if not self.several:
            return one
        return {"type": "array", "items": one} | ({} if self.none else {"minItems": 1})


# -------------------------------------------------------------------------------- numbers and names

MOST = 1_000_000  # workers or blocks: more is a slip of the keyboard
LONGEST_S = 86_400
UNITS_S = {"s": 1.0, "min": 60.0, "h": 3600.0}

SWITCH = Kind(of=bool)
TEXT = Kind(metavar="TEXT")
NAMES = Kind(several=True, metavar="NAME,…")
NAME = Kind(
    pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$",
    noun="letters, digits and . _ + - (it names a folder)",
    metavar="NAME",
)
MODELS = Kind(pattern=PATTERN, kept=checked_model, several=True, metavar="NAME,…")
WHOLE_NUMBER = Kind(of=int, metavar="N")
COUNTS = Kind(of=int, least=1, most=MOST, words=COUNT_WORDS, several=True, metavar="N,…")


def count_up_to(most: int) -> Kind:
    """A count from 1 to `most`."""
    return Kind(of=int, least=1, most=most, metavar="N")


def one_of(known: Iterable[str], what: str) -> Kind:
    """One of these names; `what` says in messages what they are names of."""
    return Kind(known=tuple(known), what=what, metavar="NAME")


def some_of(known: Iterable[str], what: str) -> Kind:
    """A list of these names."""
    return replace(one_of(known, what), several=True, metavar="NAME,…")


# ----------------------------------------------------------------------- shares, times and amounts


def _in_units(units: Mapping[str, float]) -> Callable[[str], float]:
    """A function that reads a number with one of these units, such as `2h`, or NaN."""

    def read(text: str) -> float:
        found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*", text)
        return float(found[1]) * units.get(found[2], math.nan) if found else math.nan

    return read


SECONDS = Kind(of=float, above=0, most=LONGEST_S, noun="seconds", metavar="SECONDS")
SECONDS_OR_NONE = Kind(of=float, least=0, noun="seconds", metavar="SECONDS")
TIME = replace(
    SECONDS,
    number_in=_in_units({"": 1.0, **UNITS_S}),
    pattern=rf"^\s*[0-9]+(\.[0-9]+)?\s*({'|'.join(UNITS_S)})?\s*$",
    noun="a time",
    example="90s, 30min or 2h",
    bound=duration,
    metavar="TIME",
)
BYTES = Kind(
    of=float,
    above=0,
    number_in=_in_units(SIZES),
    noun="an amount of memory",
    example="2GiB or 512MiB",
    metavar="AMOUNT",
)
FACTOR = Kind(
    of=float,
    above=0,
    number_in=share,
    pattern=r"^\s*[0-9.]+(e-?[0-9]+)?\s*%?\s*$",
    noun="a factor",
    example="0.01 or 1%",
    metavar="FACTOR",
)


def share_between(least: float, most: float) -> Kind:
    """A share with limits: `0.05` or `5%`."""
    return Kind(
        of=float,
        least=least,
        most=most,
        number_in=share,
        pattern=FACTOR.pattern,
        noun="a share",
        bound=lambda value: f"{100 * value:g}%",
        metavar="SHARE",
    )


# ---------------------------------------------------------------------------------------- rates

GRID = "grid"  # stands for several rates that a calibration decides (`scaling.study.load`)


def checked_rate(value: str, where: str) -> str:
    """`grid`, or a share in per cent.

    Raises:
        UsageError: it is neither.
    """
    text = value.replace(" ", "")
    if text == GRID or (text.endswith("%") and 0 < share(text) < math.inf):
        return text
    raise UsageError(
        f'{where}: expected a number, "{GRID}" or a share of the peak such as "50%", got {value!r}'
    )


# --------------------------------------------------------------------------------------- objectives
# Objectives of a service level (SLO): `p99<20ms` says that P99 of the latency is below 20 ms.

# Percentiles of the latency that an objective can be about.
PERCENTILES = ("p50", "p90", "p95", "p99", "p999")
LATENCY_UNITS_S = {"us": 1e-6, "ms": 1e-3, "s": 1.0}

# As a study file may write it, in regular expressions of both JSON Schema and Python.
_NAMES = "|".join(name.removeprefix("p") for name in PERCENTILES)
OBJECTIVE = Kind(
    pattern=(
        rf"^\s*[pP]({_NAMES})\s*<\s*([0-9]+(?:\.[0-9]+)?)\s*({'|'.join(LATENCY_UNITS_S)})\s*$"
    ),
    noun="an objective",
    example=f"p99<20ms ({', '.join(PERCENTILES)}; {', '.join(LATENCY_UNITS_S)})",
)


@dataclass(frozen=True, slots=True)
class Objective:
    """The latency at a percentile is below a limit, in seconds; `text` says it: `p99<20ms`."""

    percentile: str
    limit_s: float
    text: str


def parse_objective(text: str, where: str = "slo") -> Objective:
    """Read an objective; spaces do not count. `where` begins the message of an error.

    Raises:
        UsageError: it is not a percentile, `<` and a time above 0 with its unit.
    """
    found = re.fullmatch(OBJECTIVE.pattern, text)
    if found is None or float(found[2]) == 0:
        raise UsageError(f"{where}: expected {OBJECTIVE.expected}, got {text!r}")
    number, limit, unit = found.groups()
    return Objective(f"p{number}", float(limit) * LATENCY_UNITS_S[unit], f"p{number}<{limit}{unit}")


OBJECTIVES = replace(
    OBJECTIVE,
    kept=lambda value, where: parse_objective(value, where).text,
    several=True,
    none=True,  # a settled study without any says so
    metavar="P99<TIME,…",
)
