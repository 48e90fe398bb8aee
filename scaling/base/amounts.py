"""Amounts of memory as people type them: `2GiB`, `512 MiB`."""

import re

from scaling.base.errors import UsageError
from scaling.base.formats import unit_factor


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
