"""Kinds of values that options of a study have: one place for type, check, schema and flag text.

A check gets the value and the words that a message begins with (`mine.toml: blocks`, `--blocks`).
It returns the value as a study keeps it, or raises `UsageError` saying what was expected.
"""

import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

from scaling.base.errors import UsageError, unknown
from scaling.base.formats import duration
from scaling.base.models import PATTERN, checked_model
from scaling.base.typed import share, values_in
from scaling.base.vocabulary import COUNT_WORDS

# --------------------------------------------------------------------------------------- objectives
# Objectives of a service level (SLO): `p99<20ms` says that P99 of the latency is below 20 ms.

# Percentiles of the latency that an objective can be about.
PERCENTILES = ("p50", "p90", "p95", "p99", "p999")
UNITS_S = {"s": 1.0, "min": 60.0, "h": 3600.0}
LATENCY_UNITS_S = {"us": 1e-6, "ms": 1e-3, "s": 1.0}

# As a study file may write it, in regular expressions of both JSON Schema and Python.
_NAMES = "|".join(name.removeprefix("p") for name in PERCENTILES)
OBJECTIVE_PATTERN = (
    rf"^\s*[pP]({_NAMES})\s*<\s*([0-9]+(?:\.[0-9]+)?)\s*({'|'.join(LATENCY_UNITS_S)})\s*$"
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
    found = re.match(OBJECTIVE_PATTERN, text)
    if found is None or float(found[2]) == 0:
        raise UsageError(
            f"{where}: expected an objective such as p99<20ms ({', '.join(PERCENTILES)}; "
            f"{', '.join(LATENCY_UNITS_S)}), got {text!r}"
        )
    number, limit, unit = found.groups()
    return Objective(f"p{number}", float(limit) * LATENCY_UNITS_S[unit], f"p{number}<{limit}{unit}")


# -------------------------------------------------------------------------------------------- kinds

MOST = 1_000_000  # workers or blocks: more is a slip of the keyboard
LONGEST_S = 86_400
FOLDER_NAME = r"[A-Za-z0-9][A-Za-z0-9._+-]*"


@dataclass(frozen=True, kw_only=True)
class Kind:
    """What the values of an option are.

    `type` is that of the value in a study file, with what JSON Schema says of it besides. `check`
    is described above. `from_text` makes the value of a flag such a value, and `metavar` stands
    for it in `--help`; a kind without one is a switch, `--pin/--no-pin`.
    """

    type: Any
    check: Callable[[Any, str], Any]
    from_text: Callable[[str, str], Any] = lambda text, _flag: text
    metavar: str = ""
    several: bool = False

    def of_flag(self, given: Any, flag: str) -> Any:
        """The checked value of a flag: its text, the texts of a repeated one, or a value.

        Raises:
            UsageError: the text is not of this kind, or the value cannot be.
        """
        if self.several:
            texts = values_in(given, flag)
            return self.check(tuple(self.from_text(text, flag) for text in texts), flag)
        return self.check(self.from_text(given, flag) if isinstance(given, str) else given, flag)


def _schema(of: Any, **keywords: Any) -> Any:
    """The type with keywords of JSON Schema, which the checks keep, too."""
    return Annotated[of, msgspec.Meta(extra_json_schema=keywords)]


def _list_of(element: Any) -> Any:
    return _schema(tuple.__class_getitem__((element, ...)), minItems=1)


def _several(values: Sequence[Any], where: str) -> tuple[Any, ...]:
    if not values:
        raise UsageError(f"{where}: the list is empty; leave the key out for the default")
    return tuple(dict.fromkeys(values))


def _whole_number(text: str, flag: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise UsageError(f"{flag}: expected a whole number, got {text!r}") from None


def _number(text: str, flag: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"{flag}: expected a number, got {text!r}") from None


def _time(text: str, flag: str) -> float:
    """Seconds, of a number with or without a unit: `90`, `30min`, `2h`."""
    found = re.fullmatch(rf"\s*([0-9.]+)\s*({'|'.join(UNITS_S)})?\s*", text)
    if found is None:
        raise UsageError(f"{flag}: expected a time such as 90s, 30min or 2h, got {text!r}")
    return _number(found[1], flag) * UNITS_S[found[2] or "s"]


def _positive(value: int, where: str) -> int:
    if value < 1:
        raise UsageError(f"{where}: expected 1 or more, got {value}")
    if value > MOST:
        raise UsageError(f"{where}: expected at most {MOST:,}, got {value:,}")
    return value


def _counts(values: Sequence[int | str], where: str) -> tuple[int | str, ...]:
    """Numbers, ascending, and after them words."""
    given = _several(values, where)
    words = [each for each in given if isinstance(each, str)]
    for each in words:
        if each not in COUNT_WORDS:
            known = ", ".join(COUNT_WORDS)
            raise UsageError(f"{where}: expected whole numbers or {known}, got {each!r}")
    return *sorted(_positive(each, where) for each in given if isinstance(each, int)), *words


def _count_or_word(text: str, flag: str) -> int | str:
    del flag  # the check knows the words
    try:
        return int(text)
    except ValueError:
        return text


def _seconds(value: float, where: str) -> float:
    if not 0 < value < math.inf:
        raise UsageError(f"{where}: expected seconds above 0, got {value!r}")
    if value > LONGEST_S:
        raise UsageError(f"{where}: expected at most {duration(LONGEST_S)}, got {duration(value)}")
    return value


def _seconds_or_none(value: float, where: str) -> float:
    if not 0 <= value < math.inf:
        raise UsageError(f"{where}: expected seconds, 0 or more, got {value!r}")
    return value


def _models(values: Sequence[str], where: str) -> tuple[str, ...]:
    return _several([checked_model(each, where) for each in values], where)


def _objectives(values: Sequence[str], where: str) -> tuple[str, ...]:
    """The texts of objectives; none of them is the default, which a settled study says, too."""
    return tuple(dict.fromkeys(parse_objective(value, where).text for value in values))


def share_between(least: float, most: float) -> Kind:
    """A share with limits."""

    def check(value: float | str, where: str) -> float:
        number = share(value)
        if not least <= number <= most:
            ends = f"{100 * least:g}% to {100 * most:g}%"
            raise UsageError(f"{where}: expected a share of {ends}, got {value!r}")
        return number

    return Kind(type=_SHARE, check=check, metavar="SHARE")


def _factor(value: float | str, where: str) -> float:
    number = share(value)
    if not 0 < number < math.inf:
        raise UsageError(f"{where}: expected a factor above 0, such as 0.01 or 1%, got {value!r}")
    return number


def check_folder_name(value: str, where: str) -> str:
    """A study's name, which is also the name of its results folder.

    Raises:
        UsageError: a folder should not have this name.
    """
    if re.fullmatch(FOLDER_NAME, value) is None:
        raise UsageError(
            f"{where}: expected letters, digits and . _ + - (it names a folder), got {value!r}"
        )
    return value


def one_of(known: Collection[str], what: str) -> Kind:
    """One of these names; `what` says in messages what they are names of."""

    def check(value: str, where: str) -> str:
        if value not in known:
            raise unknown(what, value, known, where=where)
        return value

    return Kind(type=_schema(str, enum=list(known)), check=check, metavar="NAME")


def count_up_to(most: int) -> Kind:
    """A count with an upper limit."""

    def check(value: int, where: str) -> int:
        if not 1 <= value <= most:
            raise UsageError(f"{where}: expected 1 to {most:,}, got {value:,}")
        return value

    of = _schema(int, minimum=1, maximum=most)
    return Kind(type=of, check=check, from_text=_whole_number, metavar="N")


def some_of(known: Collection[str], what: str) -> Kind:
    """A list of these names."""
    one = one_of(known, what)

    def check(values: Sequence[str], where: str) -> tuple[str, ...]:
        return _several([one.check(value, where) for value in values], where)

    return Kind(type=_list_of(one.type), check=check, metavar="NAME,…", several=True)


_PER_CENT = r"^\s*[0-9.]+(e-?[0-9]+)?\s*%?\s*$"
_SHARE = _schema(float, exclusiveMinimum=0) | _schema(str, pattern=_PER_CENT)

MODELS = Kind(
    type=_list_of(_schema(str, pattern=PATTERN)),
    check=_models,
    metavar="NAME,…",
    several=True,
)
NAMES = Kind(type=_list_of(str), check=_several, metavar="NAME,…", several=True)
COUNTS = Kind(
    type=_list_of(_schema(int, minimum=1, maximum=MOST) | _schema(str, enum=list(COUNT_WORDS))),
    check=_counts,
    from_text=_count_or_word,
    metavar="N,…",
    several=True,
)
COUNT = Kind(
    type=_schema(int, minimum=1, maximum=MOST),
    check=_positive,
    from_text=_whole_number,
    metavar="N",
)
WHOLE_NUMBER = Kind(
    type=int, check=lambda value, _where: value, from_text=_whole_number, metavar="N"
)
SECONDS = Kind(
    type=_schema(float, exclusiveMinimum=0, maximum=LONGEST_S),
    check=_seconds,
    from_text=_number,
    metavar="SECONDS",
)
TIME = Kind(
    type=_schema(float, exclusiveMinimum=0, maximum=LONGEST_S),
    check=_seconds,
    from_text=_time,
    metavar="TIME",
)
SECONDS_OR_NONE = Kind(
    type=_schema(float, minimum=0), check=_seconds_or_none, from_text=_number, metavar="SECONDS"
)
FACTOR = Kind(type=_SHARE, check=_factor, metavar="FACTOR")
OBJECTIVES = Kind(
    type=tuple.__class_getitem__((_schema(str, pattern=OBJECTIVE_PATTERN), ...)),
    check=_objectives,
    metavar="P99<TIME,…",
    several=True,
)
SWITCH = Kind(type=bool, check=lambda value, _where: value)
NAME = Kind(type=_schema(str, pattern=f"^{FOLDER_NAME}$"), check=check_folder_name, metavar="NAME")
