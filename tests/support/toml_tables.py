"""Tables of a TOML file as structs; errors name the file and the table."""

import tomllib
from typing import Any

import msgspec

from scaling.base.errors import UsageError, unknown


def document(text: str, source: str) -> dict[str, Any]:
    """The tables of a TOML text; `source` names the file in messages."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{source}: not valid TOML: {error}") from None


def converted[T: msgspec.Struct](table: object, kind: type[T], where: str) -> T:
    """A table as a struct; `where` names the file and the table in messages."""
    known = [field.encode_name for field in msgspec.structs.fields(kind)]
    for key in table if isinstance(table, dict) else ():
        if key not in known:
            raise unknown("key", key, known, where=where)
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        complaint, _, place = str(error).partition(" - at `$.")
        key = f"{place.rstrip('`')}: " if place else ""
        raise UsageError(f"{where}: {key}{complaint}") from None


def title(kind: str, number: int, table: object) -> str:
    """What the n-th table of a list is called: `claim 2 (echo)`, by its name if it has one."""
    name = table.get("name") if isinstance(table, dict) else None
    return f"{kind} {number} ({name})" if isinstance(name, str) else f"{kind} {number}"
