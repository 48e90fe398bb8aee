"""The Pythons that nox sessions start `scaling` and the tests with.

This file and what it imports run on Python 3.10 with nox's own dependencies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scaling.base.errors import ScalingError
from scaling.builds import environments, interpreters, uv_tool
from scaling.builds.cache import Say
from scaling.builds.cpython import VERSIONS, parse_build
from scaling.builds.interpreters import source_first
from scaling.builds.interpreters.find import survey

GROUPS_OF_CHILDREN = environments.OF_CHILDREN
ANALYSIS = ("3.14", "3.14t", "3.15", "3.13")
"""Builds that can run the analysis if the measured one has no wheel of pandas, best first."""

__all__ = ["GROUPS_OF_CHILDREN", "VERSIONS", "ScalingError", "source_first"]


def pythons(builds: Sequence[str], group: str, say: Say) -> dict[str, str]:
    """For each of `builds`, the Python of its environment with the pins of `group`.

    Raises:
        ScalingError: there is no such build, or its environment cannot be made; by all functions.
    """
    found = interpreters.ensure(builds, say=say)
    return {
        name: str(environments.ensure(one, group=group, say=say)) for name, one in found.items()
    }


def analysis_python(builds: Sequence[str], say: Say, *, pgo: bool) -> str:
    """The Python that runs a study of `builds`: the first that has wheels for pandas."""
    own = interpreters.ensure(builds, pgo=pgo, say=say)
    for name, one in own.items():
        say(f"{name}: CPython {one.version}, {one.origin}, {one.flags}")
    others = survey([parse_build(name) for name in ANALYSIS])
    made = environments.ensure_any([*own.values(), *others], group="study", say=say)
    return str(made) if made else pythons(["3.14"], "study", say)["3.14"]


def available(say: Say, *, pgo: bool) -> list[str]:
    """The builds of all versions that can be installed."""
    return interpreters.available(VERSIONS, pgo=pgo, say=say)


def here() -> Iterator[str]:
    """A line for each interpreter on this machine that can be studied."""
    for one in survey():
        kind = "free-threaded" if one.free_threaded else "GIL"
        facts = f"{kind:14} {one.origin:6} {one.flags:8} {one.executable}"
        yield f"{one.build:6} {one.version:9} {facts}"


def uv(*arguments: str) -> tuple[list[str], dict[str, str]]:
    """The command that runs uv with these arguments, and its environment."""
    return [uv_tool.binary(), *arguments], uv_tool.environment()
