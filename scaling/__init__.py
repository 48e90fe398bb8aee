"""How asyncio scales over threads, processes and sub-interpreters: the study's side.

`scaling` decides what is run, has it run by `workers` in fresh child processes, and says what
the figures mean. The noxfile imports this file on whatever Python is at hand, so it needs nothing
but Python 3.10; what needs pandas is imported when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scaling.frame.frame import load as load

__all__ = ["__version__", "load"]

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """Import `load`, and pandas with it, at its first use."""
    if name == "load":
        from scaling.frame import frame

        return frame.load
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
