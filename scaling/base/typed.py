"""Values as people type them on a command line: lists, shares, amounts of memory, durations."""

import math
import re
from collections.abc import Iterable

from scaling.base.errors import UsageError
from scaling.base.formats import unit_factor


def values_in(texts: Iterable[str], flag: str) -> tuple[str, ...]:
    """The values of a flag given as `a,b`, repeated, or both, each once; none if never given.

    Raises:
        UsageError: the flag was given with no value in it.
    """
    texts = tuple(texts)
    values = tuple(dict.fromkeys(part.strip() for text in texts for part in text.split(",")))
    if "" in values:
        raise UsageError(f"{flag}: expected values such as 1,2,4 or a,b, got {','.join(texts)!r}")
    return values


def share(value: float | str) -> float:
    """`0.02` and `"2%"` as 0.02; NaN if it is no number."""
    text = str(value).strip()
    try:
        return float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        return math.nan


# ------------------------------------------------------------------------------------------ amounts
# Amounts of memory and durations as people type them: `2GiB`, `512 MiB`, `10min`.

SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0}


def bytes_in(text: str, flag: str) -> float:
    """The bytes of an amount of memory.

    Raises:
        UsageError: it is no amount above 0 with a unit.
    """
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]+)\s*", text)
    factor = unit_factor(found[2], "B") if found else None
    if not found or factor is None or float(found[1]) <= 0:
        raise UsageError(f"{flag}: expected an amount such as 2GiB or 512MiB, got {text!r}")
    return float(found[1]) * factor


def seconds_in(text: str, flag: str) -> float:
    """The seconds of a duration: `90s`, `10min`, `1 h`.

    Raises:
        UsageError: it is no duration above 0 with a unit.
    """
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(s|min|h)\s*", text)
    if not found or float(found[1]) <= 0:
        raise UsageError(f"{flag}: expected a duration such as 90s, 10min or 1h, got {text!r}")
    return float(found[1]) * SECONDS[found[2]]
