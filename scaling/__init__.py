"""The study of how asyncio scales over threads, processes and sub-interpreters.

This is the public front: notebooks and other programs import names from here, and nothing inside
does. `read` gives a study as five tables, `load` the frame of its runs alone.

    study = scaling.read("results/compare")
    study.cells, study.runs, study.values, study.estimates, study.ratios
    study.notes                 # what must be known beside the figures
    study.plot("throughput")    # the figures of a plot, one for each workload

The noxfile imports this file on whatever Python runs nox, so it needs only Python 3.10. What needs
pandas is imported at its first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from scaling.base.version import __version__

if TYPE_CHECKING:
    from scaling.analysis.table.load import load as load
    from scaling.base.formats import number as number
    from scaling.base.formats import percent as percent
    from scaling.report.notebook import ShownStudy as Study
    from scaling.report.notebook import read as read

_HOMES = {
    "Study": "scaling.report.notebook:ShownStudy",
    "load": "scaling.analysis.table.load:load",
    "number": "scaling.base.formats:number",
    "percent": "scaling.base.formats:percent",
    "read": "scaling.report.notebook:read",
}

__all__ = ["Study", "__version__", "load", "number", "percent", "read"]


def __getattr__(name: str) -> object:
    """Import a public name, and pandas with it, at its first use."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = _HOMES[name].partition(":")
    return getattr(importlib.import_module(module), attribute)


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
