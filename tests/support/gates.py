"""Asks the gate about fake studies."""

from io import StringIO
from pathlib import Path
from typing import Any

from rich.console import Console

from scaling.analysis.gate import Choice
from scaling.analysis.gate_bounds import BOUNDS, Limits
from scaling.report.gate import gate
from tests.support.studies import FakeStudy


def gated(
    folder: Path,
    new: FakeStudy,
    wanted: Choice | None = None,
    *,
    against: FakeStudy | None = None,
    width: int = 200,
    **asked: Any,
) -> tuple[int, str]:
    """Exit code and words of the gate of a study, perhaps against another, written to `folder`.

    `asked` are bounds by their names, and options of `gate`.
    """
    old = against.write(folder / "old").parent if against else None
    limits = Limits(old, **{name: asked.pop(name) for name in BOUNDS if name in asked})
    console = Console(width=width, file=StringIO(), record=True)
    results = new.write(folder / "new").parent
    code = gate(results, limits, wanted or {}, console, environment={}, **asked)
    return code, console.export_text()
