"""The event loops that a worker can run: one registry, one line a loop."""

import importlib
import sys
from asyncio import AbstractEventLoop
from collections.abc import Callable
from typing import NamedTuple


class Loop(NamedTuple):
    """An event-loop implementation: the module that has it and its factory in there."""

    module: str
    factory: str


LOOPS = {
    "asyncio": Loop("asyncio", "new_event_loop"),
    "uvloop": Loop("uvloop", "new_event_loop"),
}


class UnknownLoopError(ValueError):
    """A loop that is not in the registry."""


def load_loop(name: str) -> Callable[[], AbstractEventLoop]:
    """Import a loop and return its factory.

    Raises:
        UnknownLoopError: no such loop in the registry.
        ImportError: the package is not installed, or refuses this interpreter.
    """
    if name not in LOOPS:
        raise UnknownLoopError(f"unknown loop {name!r}; there are: {', '.join(LOOPS)}")
    module, factory = LOOPS[name]
    return getattr(importlib.import_module(module), factory)  # type: ignore[no-any-return]


def loop_version(name: str) -> str:
    """Tell the version of a loop that was loaded; asyncio's is the interpreter's."""
    interpreters = ".".join(str(part) for part in sys.version_info[:3])
    return getattr(sys.modules[LOOPS[name].module], "__version__", interpreters)
