"""Packages that leave the GIL off and are known to race below some version: one entry each.

Such a package is ready, and an application that shares its objects between threads may fail. An
entry says so with its source. Versions are those of the packages' own changelogs.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from packaging.version import InvalidVersion, Version


@dataclass(frozen=True)
class Race:
    """What goes wrong below the version that `fixed` it."""

    fixed: str
    what: str
    source: str

    @property
    def words(self) -> str:
        """`known races before 6.9.1: …`."""
        return f"known races before {self.fixed}: {self.what}"


# By name, as uv writes it.
RACES: Mapping[str, Race] = {
    "multidict": Race(
        "6.9.1",
        "threads that change one multidict lose keys or crash",
        "https://github.com/aio-libs/multidict/pull/1433",
    ),
    "pandas": Race(
        "3.0.1",
        "threads that read one DataFrame race in its internals",
        "https://github.com/pandas-dev/pandas/pull/63783",
    ),
    "pillow": Race(
        "12.2.0",
        "threads that draw with one FreeTypeFont crash",
        "https://github.com/python-pillow/Pillow/issues/9497",
    ),
    "pydantic": Race(
        "2.14.0",
        "a TypeAdapter made by several threads at once raises RuntimeError",
        "https://github.com/pydantic/pydantic/issues/13780",
    ),
    "regex": Race(
        "2026.7.10",
        "threads that compile patterns at once raise RuntimeError, or crash",
        "https://github.com/mrabarnett/mrab-regex/issues/606",
    ),
}


def race_of(name: str, version: str) -> Race | None:
    """What this version of a package is known for; None if nothing is known."""
    race = RACES.get(name)
    try:
        return race if race and Version(version) < Version(race.fixed) else None
    except InvalidVersion:  # it has no version: a folder, say
        return None
