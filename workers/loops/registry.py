"""The event loops that a worker can run: one registry, one line a loop."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # a worker on trio does without asyncio
    from asyncio import AbstractEventLoop
    from collections.abc import Callable

    type LoopFactory = Callable[[], AbstractEventLoop]


class Loop(NamedTuple):
    """An event loop: whose it is, the library spoken on it, and what makes it.

    Without a module that makes asyncio's kind of loop it is trio that runs. `backend` is what the
    library would import by itself only at its first call, which is too late for us.
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
    """A loop that is not in the registry, or trio where a loop of asyncio's kind is needed."""


def known_loop(name: str) -> Loop:
    """Look a loop up in the registry.

    Raises:
        UnknownLoopError: no such loop in the registry.
    """
    if name not in LOOPS:
        raise UnknownLoopError(f"unknown loop {name!r}; there are: {', '.join(LOOPS)}")
    return LOOPS[name]


def import_loop(name: str) -> None:
    """Import all that a loop needs.

    Raises:
        UnknownLoopError: no such loop in the registry.
        ImportError: a package is not installed, or refuses this interpreter.
    """
    loop = known_loop(name)
    for module in (loop.made_by or "trio", loop.module, loop.backend):
        if module is not None:
            importlib.import_module(module)


def load_loop(name: str) -> LoopFactory:
    """Import a loop of asyncio's kind and return its factory.

    Raises:
        UnknownLoopError: no such loop in the registry, or it is trio.
        ImportError: the package is not installed, or refuses this interpreter.
    """
    import_loop(name)
    made_by = LOOPS[name].made_by
    if made_by is None:
        raise UnknownLoopError(f"{name} runs on trio, which makes no loop of asyncio's kind")
    return sys.modules[made_by].new_event_loop  # type: ignore[no-any-return]


def loop_version(name: str) -> str:
    """Tell the version of a loop that was loaded; asyncio's is the interpreter's."""
    module = LOOPS[name].module
    if module in sys.stdlib_module_names:
        return ".".join(str(part) for part in sys.version_info[:3])
    told = getattr(sys.modules[module], "__version__", None)
    if told is None:
        from importlib import metadata  # costs memory: only once everything is measured

        told = metadata.version(module)
    return str(told)
