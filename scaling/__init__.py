"""How asyncio scales over threads, processes and sub-interpreters: the study's side.

This is the public front: notebooks and other programs import names from here, and nothing inside
does. A journal becomes a table with `load`, a table with its study with `read`, and everything that
follows from it with `StudyResults.of(read(…))`; `plot` draws a figure.

The noxfile imports this file on whatever Python runs nox, so it needs only Python 3.10. What needs
pandas is imported at its first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from scaling.base.version import __version__

if TYPE_CHECKING:
    from scaling.analysis.curves import curves as curves
    from scaling.analysis.results import StudyResults as StudyResults
    from scaling.analysis.table.load import load as load
    from scaling.analysis.table.load import read_journal as read
    from scaling.base.formats import number as number
    from scaling.base.formats import percent as percent
    from scaling.report.plots.draw import drawn as plot

_HOMES = {
    "StudyResults": "scaling.analysis.results:StudyResults",
    "curves": "scaling.analysis.curves:curves",
    "load": "scaling.analysis.table.load:load",
    "number": "scaling.base.formats:number",
    "percent": "scaling.base.formats:percent",
    "plot": "scaling.report.plots.draw:drawn",
    "read": "scaling.analysis.table.load:read_journal",
}

__all__ = [
    "StudyResults",
    "__version__",
    "curves",
    "load",
    "number",
    "percent",
    "plot",
    "read",
]


def __getattr__(name: str) -> object:
    """Import a public name, and pandas with it, at its first use."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = _HOMES[name].partition(":")
    return getattr(importlib.import_module(module), attribute)


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
