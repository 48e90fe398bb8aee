"""Values as people type them: words of a command line, and tables of a TOML file.

Errors are in the words of those who type them.
"""

import math
import re
import tomllib
from collections.abc import Iterable
from typing import Any

import msgspec

from scaling.base.errors import UsageError, unknown
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
# Amounts of memory as people type them: `2GiB`, `512 MiB`.


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


# --------------------------------------------------------------------------------- tables of a file
# Tables of a TOML file as structs.

# Plain words for the types that msgspec names.
WORDS = {
    "array": "list",
    "object": "table",
    "int": "whole number",
    "float": "number",
    "str": "text",
    "bool": "true/false",
}

MISSING = re.compile(r"Object missing required field `(\w+)`")


def document(text: str, source: str) -> dict[str, Any]:
    """The tables of a TOML text; `source` names the file in messages.

    Raises:
        UsageError: it is not TOML.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{source}: not valid TOML: {error}") from None


def converted[T: msgspec.Struct](table: object, kind: type[T], where: str) -> T:
    """A table as a struct; `where` names the file and the table in messages.

    Raises:
        UsageError: a key or value that does not fit; says which, and what was expected.
    """
    known = [field.encode_name for field in msgspec.structs.fields(kind)]
    if isinstance(table, dict):
        for key in table:
            if key not in known:
                raise unknown("key", key, known, where=where)
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        raise UsageError(f"{where}: {_plainly(str(error), table)}") from None


def title(kind: str, number: int, table: object) -> str:
    """What the n-th table of a list is called: `workload 2 (echo)`, by its name if it has one."""
    name = table.get("name") if isinstance(table, dict) else None
    return f"{kind} {number} ({name})" if isinstance(name, str) else f"{kind} {number}"


def _types(names_in: str) -> str:
    """`float | str | null` as "number or text"."""
    names = [name for name in names_in.split(" | ") if name != "null"]
    return " or ".join(WORDS.get(name, name) for name in names)


def _plainly(message: str, table: object) -> str:
    """Turn "Expected `array | null`, got `str` - at `$.loops`" into "loops: expected a list, …"."""
    complaint, _, place = message.partition(" - at `$")
    complaint = MISSING.sub(r"the key `\1` is missing", complaint)
    key = place.rstrip("`").lstrip(".").removesuffix("[...]")
    complaint = re.sub(r"`([\w| ]+)`", lambda found: _types(found[1]), complaint)
    complaint = complaint[:1].lower() + complaint[1:].replace("`", "")
    if not key:
        return complaint
    value = table.get(key) if isinstance(table, dict) else None
    return f"{key}: {complaint}" + (f" ({value!r})" if value is not None else "")


def share_from_0_to_1(text: str, flag: str) -> float:
    """`5%` and `0.05` as 0.05.

    Raises:
        UsageError: it is not a number from 0 to 1.
    """
    value = share(text)
    if not 0 <= value <= 1:
        meant = f" Did you mean {value / 100:g}?" if text.isdecimal() and value <= 100 else ""
        raise UsageError(f"{flag}: expected a share such as 0.8 or 5%, got {text!r}.{meant}")
    return value
