"""Event loops, and the async libraries that run on them: one registry, one line per loop.

`on_asyncio` and `on_trio` are imported only for the loops that need them.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, NamedTuple

from workers.loops.libraries import CancelScopes, Library, Runner

if TYPE_CHECKING:  # a worker on trio does not import asyncio
    from asyncio import AbstractEventLoop
    from collections.abc import Callable

    type LoopFactory = Callable[[], AbstractEventLoop]


class Loop(NamedTuple):
    """One kind of event loop.

    `module` is the package that provides it, and whose version is recorded. `library` is the async
    library that workloads use on it. `made_by` is the module with `new_event_loop`; None means that
    trio runs, without an asyncio loop. `backend` is a module that the library would otherwise
    import at its first call, inside the measured time.
    """

    module: str
    library: str = "asyncio"
    made_by: str | None = None
    backend: str | None = None


LOOPS = {
    "asyncio": Loop("asyncio", made_by="asyncio"),
    "uvloop": Loop("uvloop", made_by="uvloop"),
    "rloop": Loop("rloop", made_by="rloop"),
    "zuvloop": Loop("zuvloop", made_by="zuvloop"),
    "trio": Loop("trio", "trio"),
    "anyio/asyncio": Loop("anyio", "anyio", "asyncio", backend="anyio._backends._asyncio"),
    "anyio/trio": Loop("anyio", "anyio", backend="anyio._backends._trio"),
}


class UnknownLoopError(ValueError):
    """The loop is not in the registry, or is trio where an asyncio loop is needed."""


def known_loop(name: str) -> Loop:
    """Return a loop of the registry.

    Raises:
        UnknownLoopError: there is no such loop in the registry.
    """
    if name not in LOOPS:
        raise UnknownLoopError(f"unknown loop {name!r}; known: {', '.join(LOOPS)}")
    return LOOPS[name]


def import_loop(name: str) -> None:
    """Import every module that a loop needs.

    Raises:
        UnknownLoopError: there is no such loop in the registry.
        ImportError: a package is not installed, or does not support this interpreter.
    """
    loop = known_loop(name)
    for module in (loop.made_by or "trio", loop.module, loop.backend):
        if module is not None:
            importlib.import_module(module)


def load_loop(name: str) -> LoopFactory:
    """Import an asyncio loop and return its factory.

    Raises:
        UnknownLoopError: there is no such loop in the registry, or it is trio.
        ImportError: the package is not installed, or does not support this interpreter.
    """
    import_loop(name)
    made_by = LOOPS[name].made_by
    if made_by is None:
        raise UnknownLoopError(f"{name} runs on trio, which has no asyncio loop")
    return sys.modules[made_by].new_event_loop  # type: ignore[no-any-return]


def loop_version(name: str) -> str:
    """Return the version of an imported loop; asyncio's is the interpreter's."""
    module = LOOPS[name].module
    if module in sys.stdlib_module_names:
        return sys.version.split(maxsplit=1)[0]  # 3.15.0rc2, as the interpreter is described
    version = getattr(sys.modules[module], "__version__", None)
    if version is None:
        from importlib import metadata  # costs memory, so only after everything is measured

        version = metadata.version(module)
    return str(version)


def runner_for(loop: str) -> Runner:
    """Return the runner for a loop; imports its library.

    Raises:
        UnknownLoopError: there is no such loop.
        ImportError: it is not installed, or does not support this interpreter.
    """
    if known_loop(loop).made_by is None:
        from workers.loops.on_trio import TrioRunner

        return TrioRunner()
    from workers.loops.on_asyncio import AsyncioRunner

    return AsyncioRunner(load_loop(loop))


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
    return CancelScopes(name)
