"""The builds of CPython that can be studied, and their names.

A build is named by its minor version, with a `t` if it is free-threaded: `3.14`, `3.14t`.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from scaling.base.errors import UsageError

VERSIONS = ("3.12", "3.13", "3.13t", "3.14", "3.14t", "3.15", "3.15t")
"""The builds that have a nox session of their own."""

OLDEST_MINOR, NEWEST_MINOR = 12, 15
OLDEST_FREE_THREADED_MINOR = 13


@dataclass(frozen=True, order=True)
class Build:
    """One kind of CPython binary: a minor version, with or without the GIL."""

    minor: int
    free_threaded: bool

    @property
    def version(self) -> str:
        """`3.14`, whether free-threaded or not."""
        return f"3.{self.minor}"

    @property
    def name(self) -> str:
        """`3.14` or `3.14t`."""
        return f"{self.version}{'t' if self.free_threaded else ''}"


BUILDS = tuple(
    Build(minor, free_threaded)
    for minor in range(OLDEST_MINOR, NEWEST_MINOR + 1)
    for free_threaded in (False, True)
    if not free_threaded or minor >= OLDEST_FREE_THREADED_MINOR
)
"""All builds that an arm may name."""


def parse_build(name: str) -> Build:
    """The build called `name`.

    Raises:
        UsageError: there is no such build; the message lists those that there are.
    """
    known = {build.name: build for build in BUILDS}
    if name in known:
        return known[name]
    if patch := re.fullmatch(r"(3\.\d+)\.\d+(t?)", name):
        near = [patch[1] + patch[2]]
    else:
        near = difflib.get_close_matches(name, known, n=1)
    hint = f" Did you mean {near[0]}?" if near and near[0] in known else ""
    raise UsageError(f"there is no build {name!r}.{hint} Builds: {', '.join(known)}.")
