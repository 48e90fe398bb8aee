"""The CPython builds under study: found on this machine, downloaded by uv, or built from source.

`ensure(["3.14", "3.14t"], say=print)` returns them.

Two binaries from different places differ in their compiler, too. So builds of one minor version
that are wanted together come from the same place, in the same version, compiled with the same
flags; if one way cannot provide that, the next one is tried.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from scaling.base.errors import ScalingError, UsageError
from scaling.builds.cache import Say
from scaling.builds.cpython import Build, Interpreter, parse_build
from scaling.builds.interpreters.build import from_source
from scaling.builds.interpreters.find import (
    ISSUE,
    SOUND_SINCE,
    best_first,
    download,
    may_crash,
    survey,
)

VARIABLE = "SCALING_INTERPRETERS"
"""The variable with the user's ways to get interpreters, in order."""


class Provider(Protocol):
    """A way to get interpreters; raises ScalingError with the reason if it cannot."""

    def __call__(self, builds: Sequence[Build], *, pgo: bool, say: Say) -> dict[str, Interpreter]:
        """Interpreters for all of `builds`, by name."""
        ...


def ensure(
    builds: Sequence[str],
    *,
    pgo: bool = False,
    say: Say,
    providers: Mapping[str, Provider] | None = None,
) -> dict[str, Interpreter]:
    """The interpreters for `builds` (`["3.14", "3.14t"]`), by name; installed if missing.

    With `pgo` (or `SCALING_PGO=1`) only interpreters built with PGO count. `SCALING_INTERPRETERS`
    (`found`, `uv`, `built`; several with commas) names the ways to get them, in the order in which
    they are tried. `say` is called with what happens and how long it will take.

    Raises:
        UsageError: a name is not a build, or there is no interpreter for it; the message has the
            reason for each way, and how to get it.
    """
    wanted = [parse_build(name) for name in dict.fromkeys(builds)]
    pgo = pgo or os.environ.get("SCALING_PGO") == "1"
    result: dict[str, Interpreter] = {}
    for minor in dict.fromkeys(build.minor for build in wanted):
        together = [build for build in wanted if build.minor == minor]
        result.update(_first_provider(together, providers or PROVIDERS, pgo=pgo, say=say))
    _warn(result.values(), say)
    return {name: result[name] for name in dict.fromkeys(builds)}


def select(
    candidates: Iterable[Interpreter], builds: Sequence[Build], *, pgo: bool
) -> dict[str, Interpreter] | None:
    """An interpreter for each of `builds`: the best that are comparable, or None."""
    usable = [one for one in best_first(candidates) if _usable(one, pgo=pgo)]
    for first in usable:
        comparable = [one for one in usable if one.comparable_with(first)]
        chosen = {one.build: one for one in reversed(comparable)}  # the best one last: it stays
        if all(build.name in chosen for build in builds):
            return {build.name: chosen[build.name] for build in builds}
    return None


def available(
    builds: Sequence[str],
    *,
    pgo: bool = False,
    say: Say,
    providers: Mapping[str, Provider] | None = None,
) -> list[str]:
    """Those of `builds` that are available here, installed if missing; `say` gets other reasons.

    Versions are compared with each other, so each is built from source if possible: then all have
    the same compiler and flags. The study itself needs the variables of `source_first()`, too.
    """
    every = providers or {name: PROVIDERS[name] for name in SOURCE_FIRST}
    wanted = [parse_build(name) for name in builds]
    had: list[str] = []
    for minor in dict.fromkeys(build.minor for build in wanted):
        pair = [build.name for build in wanted if build.minor == minor]
        alone = [[name] for name in pair] if len(pair) > 1 else []
        for names in (pair, *alone):
            try:
                had += ensure(names, pgo=pgo, say=say, providers=every)
            except UsageError as reason:
                say(f"left out: {str(reason).partition(chr(10))[0].rstrip(':')}")
            else:
                if names is pair:
                    break
    return had


def source_first() -> dict[str, str]:
    """The environment variable for a study whose builds must be alike, unless the user set it."""
    return {VARIABLE: os.environ.get(VARIABLE) or ",".join(SOURCE_FIRST)}


def _usable(one: Interpreter, *, pgo: bool) -> bool:
    if one.debug or one.missing:
        return False
    # A study gets our own build with or without PGO as it asks, even if both exist.
    return one.pgo == pgo if one.origin == "built" else one.pgo or not pgo


def _first_provider(
    builds: Sequence[Build], providers: Mapping[str, Provider], *, pgo: bool, say: Say
) -> dict[str, Interpreter]:
    reasons = []
    for name in _allowed(providers):
        try:
            return providers[name](builds, pgo=pgo, say=say)
        except UsageError:
            raise
        except ScalingError as reason:
            reasons.append(str(reason))
    what = " and ".join(build.name for build in builds) + (" with PGO" if pgo else "")
    raise UsageError(
        f"no CPython {what} is available:\n  - " + "\n  - ".join(reasons) + "\n"
        f"Put {'it' if len(builds) == 1 else 'them'} on PATH, or get "
        f"{'it' if len(builds) == 1 else 'them'} with: "
        f"uv python install {' '.join(build.name for build in builds)}"
    )


def _allowed(providers: Mapping[str, Provider]) -> list[str]:
    chosen = [name for name in os.environ.get(VARIABLE, "").split(",") if name]
    if unknown := [name for name in chosen if name not in providers]:
        raise UsageError(f"{VARIABLE}: expected any of {', '.join(providers)}, got {unknown[0]!r}.")
    return chosen or list(providers)


def _found(builds: Sequence[Build], *, pgo: bool, say: Say) -> dict[str, Interpreter]:
    del say
    chosen = select(survey(builds), builds, pgo=pgo)
    if chosen is None:
        pair = "" if len(builds) == 1 else " as a pair that differs in the GIL only"
        raise ScalingError(f"not on this machine{pair} (PATH, uv's store, pyenv, our own builds)")
    return chosen


def _from_uv(builds: Sequence[Build], *, pgo: bool, say: Say) -> dict[str, Interpreter]:
    if chosen := _in_uvs_store(builds, pgo=pgo):
        return chosen  # only if uv alone is allowed: else `_found` has returned it
    try:
        download(builds, say=say)
    except ScalingError as reason:
        say(f"  {reason}")
        raise
    if chosen := _in_uvs_store(builds, pgo=pgo):
        return chosen
    raise ScalingError("uv installed builds that differ in more than the GIL")


def _in_uvs_store(builds: Sequence[Build], *, pgo: bool) -> dict[str, Interpreter] | None:
    return select((one for one in survey(builds) if one.origin == "uv"), builds, pgo=pgo)


def _built(builds: Sequence[Build], *, pgo: bool, say: Say) -> dict[str, Interpreter]:
    return {one.name: from_source(one, pgo=pgo, say=say) for one in builds}


PROVIDERS: Mapping[str, Provider] = {"found": _found, "uv": _from_uv, "built": _built}
"""In the order in which they are tried, if the user names no other."""

SOURCE_FIRST = ("built", "found", "uv")
"""The order for builds that must be alike."""

_warned: set[str] = set()


def _warn(interpreters: Iterable[Interpreter], say: Say) -> None:
    for one in interpreters:
        old = may_crash(one.version, free_threaded=one.free_threaded)
        if old and one.version not in _warned:
            _warned.add(one.version)
            say(
                f"warning: free-threaded {one.version} may crash when event loops are closed; "
                f"{SOUND_SINCE} and newer do not ({ISSUE})"
            )
