"""How asyncio scales over threads, processes and sub-interpreters: the study's side.

`scaling` decides what is run, has it run by `workers` in fresh child processes, and says what
the figures mean. The noxfile imports this file on whatever Python is at hand, so it needs nothing
but Python 3.10; what needs pandas is imported when it is asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from scaling.base.version import __version__

if TYPE_CHECKING:
    from scaling.analysis.lookup.figure import figure as figure
    from scaling.analysis.table.load import load as load
    from scaling.analysis.table.load import read_journal as read

__all__ = ["__version__", "figure", "load", "read"]

_ASKED_FOR = {
    "figure": ("scaling.analysis.lookup.figure", "figure"),
    "load": ("scaling.analysis.table.load", "load"),
    "read": ("scaling.analysis.table.load", "read_journal"),
}


def __getattr__(name: str) -> object:
    """Import `figure`, `load` or `read`, and pandas with it, at its first use."""
    if name not in _ASKED_FOR:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _ASKED_FOR[name]
    return getattr(importlib.import_module(module), attribute)
