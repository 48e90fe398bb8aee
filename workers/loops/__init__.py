"""Event loops, and the async libraries that run on them: what runs a session, and many tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workers.loops.registry import known_loop

if TYPE_CHECKING:  # what a loop does not need is not imported
    from workers.loops.libraries import Library
    from workers.loops.runners import Runner


def runner_for(loop: str) -> Runner:
    """Return the runner for a loop; imports its library.

    Raises:
        UnknownLoopError: there is no such loop.
    """
    if known_loop(loop).made_by is None:
        from workers.loops.on_trio import TrioRunner

        return TrioRunner()
    from workers.loops.on_asyncio import AsyncioRunner

    return AsyncioRunner(loop)


def library(loop: str) -> Library:
    """Return the library of that loop; call it with that loop running.

    Raises:
        UnknownLoopError: there is no such loop.
        ImportError: the library is not installed.
    """
    name = known_loop(loop).library
    if name == "asyncio":
        from workers.loops.on_asyncio import Asyncio  # trio's workers do not import it

        return Asyncio()
    from workers.loops.libraries import CancelScopes

    return CancelScopes(name)
