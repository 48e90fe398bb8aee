"""The tables of a study are worked out once, and each plot is rendered once, however many outputs
show them.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from rich.console import Console

from scaling.analysis.tables import study as tables
from scaling.report.output import finish
from tests.support.studies import FakeStudy

QUIET = Console(quiet=True)
STUDY = FakeStudy(models=("threads", "processes"), workers=(1, 2), ticks=4)


def test_everything_is_worked_out_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts: Counter[str] = Counter()

    def counted(name: str, work: Callable[..., object]) -> Callable[..., object]:
        def works(*arguments: object) -> object:
            counts[name] += 1
            return work(*arguments)

        return works

    for name in ("cells_of", "ratios", "soundness"):
        monkeypatch.setattr(tables, name, counted(name, getattr(tables, name)))

    def rendered(_figure: object, name: str, _title: str) -> str:
        counts[name] += 1
        return '<svg role="img" aria-label="a plot"></svg>'

    monkeypatch.setattr("scaling.report.render.svg.svg", rendered)
    monkeypatch.setattr(Figure, "savefig", lambda *_, **__: None)
    STUDY.write(tmp_path)
    finish(tmp_path, QUIET)
    assert {"throughput-echo", "cells_of", "ratios", "soundness"} <= counts.keys()
    assert counts == dict.fromkeys(counts, 1)
