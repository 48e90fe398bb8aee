"""Packages that leave the GIL off and are known to race in some versions: `races.toml`.

Such a package is ready, and an application that shares its objects between threads may fail. A
version is compared as packaging does, so a pre-release of the one that is mended still races.
"""

from functools import cache
from pathlib import Path

import msgspec
from packaging.version import InvalidVersion, Version

FILE = Path(__file__).with_suffix(".toml")


class Race(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What goes wrong from version `since` on, until `fixed`; empty where there is no such."""

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
        """What to do about it."""
        return f"use {self.fixed} or newer" if self.fixed else self.instead

    def concerns(self, version: Version) -> bool:
        """Whether this version is one that races."""
        return not (
            (self.since and version < Version(self.since))
            or (self.fixed and version >= Version(self.fixed))
        )


@cache
def known_races() -> dict[str, Race]:
    """What is known, by the package's name as uv writes it."""
    entries = msgspec.toml.decode(FILE.read_bytes(), type=dict[str, list[Race]])["race"]
    return {each.package: each for each in entries}


def race_of(name: str, version: str) -> Race | None:
    """What this version of a package is known for; None if nothing is known."""
    race = known_races().get(name)
    try:
        return race if race and race.concerns(Version(version)) else None
    except InvalidVersion:  # it has no version: a folder, say
        return None
