"""The results of a study are computed once, however many outputs show them."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from scaling.analysis import results
from scaling.analysis.results import StudyResults
from scaling.analysis.table.load import read_journal
from scaling.report.files import write_derived
from scaling.report.output import finish
from scaling.report.page.render import FILE_NAME, page
from scaling.report.plots.sheet import Sheet
from scaling.report.terminal.show import show
from tests.support.studies import FakeStudy

WORKED_OUT = ("sections", "blocks_of", "ratios", "compare", "outcomes", "drift", "run_issues")


@pytest.fixture
def worked_out(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each of them was worked out."""
    counts: Counter[str] = Counter()

    def counted(name: str) -> Callable[..., object]:
        work: Callable[..., object] = getattr(results, name)

        def works(*arguments: object) -> object:
            counts[name] += 1
            return work(*arguments)

        return works

    for name in WORKED_OUT:
        monkeypatch.setattr(results, name, counted(name))
    # Encoding pictures is not in doubt.
    monkeypatch.setattr(Sheet, "save", lambda _, path, formats: [path])
    return counts


STUDY = FakeStudy(arms=("3.14", "3.14t"), models=("threads", "processes"), workers=(1, 2))


@pytest.mark.usefixtures("unrendered")
@pytest.mark.parametrize("output", ["run", "show", "report"])
def test_everything_is_worked_out_once(
    output: str, tmp_path: Path, worked_out: Counter[str]
) -> None:
    file = STUDY.write(tmp_path)
    quiet = Console(quiet=True)
    commands: dict[str, Callable[[], object]] = {
        "run": lambda: write_derived(StudyResults.of(read_journal(file)), tmp_path),
        "show": lambda: show(tmp_path, quiet, details=True),
        "report": lambda: page(StudyResults.of(read_journal(file))),
    }
    commands[output]()
    assert worked_out == dict.fromkeys(WORKED_OUT, 1)


@pytest.mark.usefixtures("unrendered")
def test_a_page_at_the_end_of_a_run_has_the_plots_that_were_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = FakeStudy(workers=(1, 2)).write(tmp_path)
    drawn: Counter[str] = Counter()

    svg = Sheet.svg

    def counted(sheet: Sheet) -> str:
        drawn[sheet.title] += 1
        return svg(sheet)

    monkeypatch.setattr(Sheet, "svg", counted)
    finish(tmp_path, Console(quiet=True))
    assert drawn == dict.fromkeys(drawn, 1)
    alone = page(StudyResults.of(read_journal(file)))
    assert (tmp_path / FILE_NAME).read_text(encoding="utf-8") == alone
    assert drawn == dict.fromkeys(drawn, 2), "it draws the same"
