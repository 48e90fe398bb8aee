"""Several machines: the verdict of each, and which conclusions hold on all of them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from scaling.analysis.between_studies import conclusions
from scaling.analysis.results import StudyResults
from scaling.base.console import new_console
from scaling.report.compare import compare, finish_several
from scaling.report.tables.between_studies import machines_chapters
from scaling.report.tables.grid import chapters_markdown
from tests.support.studies import FakeStudy

pytestmark = pytest.mark.one_build

SCALES = {("3.14t", "threads", 2): 1.9}
DOES_NOT = {("3.14t", "threads", 2): 0.7}


def study(machine: str, **asked: Any) -> FakeStudy:
    """A study as if made on that machine."""
    return FakeStudy(**{"workers": (1, 2), "blocks": 8, "head": {"machine__id": machine}, **asked})


def results(**speeds: Mapping[tuple[str, str, int], float]) -> dict[str, StudyResults]:
    """Those of each machine, by its name."""
    return {name: study(name, speeds=each).results for name, each in speeds.items()}


def test_a_conclusion_holds_where_every_machine_has_the_same_verdict() -> None:
    found = conclusions(results(a=SCALES, b=SCALES, c=SCALES))
    assert [(each.ratio.question, each.holds) for each in found] == [("gain", "everywhere")]
    assert found[0].words == {"a": "faster", "b": "faster", "c": "faster"}


def test_it_does_not_where_one_has_another() -> None:
    found = conclusions(results(a=SCALES, b=DOES_NOT))
    assert [each.holds for each in found] == ["not everywhere"]
    assert found[0].words == {"a": "faster", "b": "slower"}


def test_it_is_undecided_where_one_has_too_few_blocks_or_another_n() -> None:
    few = study("few", blocks=2, speeds=SCALES)
    larger = study("large", workers=(1, 4), cores=4)
    for each in (few, larger):
        found = conclusions(results(a=SCALES) | {"other": each.results})
        assert {each.holds for each in found} == {"undecided"}


def test_machines_are_shown_with_their_verdicts() -> None:
    newer = study("c", speeds=SCALES, head={"machine__id": "c", "pins": "others"}).results
    text = chapters_markdown(machines_chapters(results(a=SCALES, b=DOES_NOT) | {"c": newer}))
    assert "c differs from a in: the pinned packages" in text
    assert "b differs" not in text
    assert "different ones: 1" in text
    assert "no: faster, slower" in text
    assert "| asyncio · 3.14t · threads | 2 |" in text


def test_a_machine_without_a_run_does_not_cost_the_answer_of_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], undrawn: None
) -> None:
    folders = {name: tmp_path / name for name in ("a", "b", "begun", "empty")}
    journal, _ = (study(name, speeds=SCALES).write(folders[name]) for name in ("a", "b"))
    head = journal.read_text().partition("\n")[0] + "\n"
    for name, text in (("empty", ""), ("begun", head)):
        folders[name].mkdir()
        (folders[name] / journal.name).write_text(text)
    finish_several(folders, new_console())
    shown = capsys.readouterr().out
    assert "yes: faster" in shown
    assert "begun: " in shown
    assert "holds no run yet" in shown
    assert "empty: " in shown
    assert f"page of b: {folders['b'] / 'report.html'}" in shown


def test_studies_of_one_machine_are_compared_cell_by_cell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    same = study("same", blocks=2)
    compare([same.write(tmp_path / name).parent for name in ("a", "b")], None, new_console())
    assert "The studies were not run side by side" in capsys.readouterr().out
