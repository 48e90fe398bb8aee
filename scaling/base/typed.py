"""Values as people type them: several at once, and shares."""

import math
from collections.abc import Iterable

from scaling.base.errors import UsageError


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
