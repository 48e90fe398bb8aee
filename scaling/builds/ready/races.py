"""Packages that leave the GIL off and have known races in some versions: `races.toml`.

Such a package is ready, but an application that shares its objects between threads may fail.
Versions are compared as packaging does, so a pre-release of the fixed version still races.
"""

from functools import cache
from pathlib import Path

import msgspec
from packaging.version import InvalidVersion, Version

FILE = Path(__file__).with_suffix(".toml")


class Race(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A race from version `since` on, until `fixed`; an empty version is no limit."""

    package: str
    what: str
    source: str
    since: str = ""
    fixed: str = ""
    instead: str = ""

    @property
    def words(self) -> str:
        """`known races before 6.9.1: …`."""
        first = f" from {self.since} on" if self.since else ""
        last = f" before {self.fixed}" if self.fixed else ""
        return f"known races{first}{last}: {self.what}"

    @property
    def to_do(self) -> str:
        """The remedy."""
        return f"use {self.fixed} or newer" if self.fixed else self.instead

    def concerns(self, version: Version) -> bool:
        """Return True if this version has the race."""
        return not (
            (self.since and version < Version(self.since))
            or (self.fixed and version >= Version(self.fixed))
        )


@cache
def known_races() -> dict[str, Race]:
    """The known races, by the package's name as uv writes it."""
    entries = msgspec.toml.decode(FILE.read_bytes(), type=dict[str, list[Race]])["race"]
    return {each.package: each for each in entries}


def race_of(name: str, version: str) -> Race | None:
    """The known race of this version of a package, or None."""
    race = known_races().get(name)
    try:
        return race if race and race.concerns(Version(version)) else None
    except InvalidVersion:  # it has no version: a folder, say
        return None
