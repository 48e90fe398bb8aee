"""The tables of a study are worked out once, however many outputs show them."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from rich.console import Console

from scaling.analysis.tables import study as tables
from scaling.report import files, page
from scaling.report.files import read, write_tables
from scaling.report.output import finish
from scaling.report.render.svg import svg
from scaling.report.show import show
from tests.support.studies import FakeStudy

WORKED_OUT = ("cells_of", "ratios", "soundness")
STUDY = FakeStudy(arms=("3.14", "3.14t"), models=("threads", "processes"), workers=(1, 2))
QUIET = Console(quiet=True)


@pytest.fixture
def worked_out(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each of them was worked out."""
    counts: Counter[str] = Counter()

    def counted(name: str) -> Callable[..., object]:
        work: Callable[..., object] = getattr(tables, name)

        def works(*arguments: object) -> object:
            counts[name] += 1
            return work(*arguments)

        return works

    for name in WORKED_OUT:
        monkeypatch.setattr(tables, name, counted(name))
    return counts


@pytest.mark.parametrize("output", ["run", "show", "report"])
def test_everything_is_worked_out_once(
    output: str, tmp_path: Path, worked_out: Counter[str]
) -> None:
    STUDY.write(tmp_path)
    commands: dict[str, Callable[[], object]] = {
        "run": lambda: write_tables(read(tmp_path, QUIET), tmp_path),
        "show": lambda: show(tmp_path, QUIET, details=True),
        "report": lambda: page.page(read(tmp_path, QUIET)),
    }
    commands[output]()
    assert worked_out == dict.fromkeys(WORKED_OUT, 1)


def test_a_page_is_the_same_at_the_end_of_a_run_and_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered: Counter[str] = Counter()

    def counted(figure: Figure, name: str, title: str) -> str:
        rendered[name] += 1
        return svg(figure, name, title)

    monkeypatch.setattr("scaling.report.view.plots.svg", counted)
    STUDY.write(tmp_path)
    finish(tmp_path, QUIET)
    assert rendered == dict.fromkeys(rendered, 1), "the page has the plots that were drawn"
    alone = page.page(files.read(tmp_path, QUIET))
    assert (tmp_path / page.FILE_NAME).read_text(encoding="utf-8") == alone
