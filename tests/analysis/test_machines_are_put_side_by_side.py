"""Several machines: the verdict of each, and which conclusions hold on all of them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from scaling.analysis.between_studies import conclusions
from scaling.analysis.results import StudyResults
from scaling.base.console import new_console
from scaling.base.errors import UsageError
from scaling.journal.beside import HOSTS_FILE, Hosts, Standing
from scaling.report.compare import compare
from scaling.report.page.render import machines_page
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


def test_machines_are_shown_with_how_far_they_are() -> None:
    machines = results(a=SCALES, b=DOES_NOT)
    standings = {
        "a": Standing(state="complete", runs=16, total=16),
        "b": Standing(state="lost", runs=7, total=16),
        "c": Standing(state="absent"),
    }
    text = chapters_markdown(machines_chapters(machines, standings))
    assert "b: " in text
    assert "lost: the host ended, or was cut off; 7 of 16 runs" in text
    assert "c: not reached; 0 runs" in text
    assert "different ones: 1" in text
    assert "no: faster, slower" in text
    assert "| asyncio · 3.14t · threads | 2 |" in text


def test_a_results_folder_stands_for_its_machines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b"):
        study(name, speeds=SCALES).write(tmp_path / name)
    with pytest.raises(UsageError):  # so far it only has folders of studies
        compare([tmp_path], None, new_console())
    HOSTS_FILE.write(tmp_path, Hosts(hosts={"b": Standing(state="interrupted", runs=1)}))
    compare([tmp_path], None, new_console())
    shown = capsys.readouterr().out
    assert "yes: faster" in shown
    assert "interrupted by the user; 1 runs" in shown


def test_a_machine_without_a_run_does_not_cost_the_answer_of_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal, _ = (study(name, speeds=SCALES).write(tmp_path / name) for name in ("a", "b"))
    failed = Standing(state="failed")
    HOSTS_FILE.write(tmp_path, Hosts(hosts=dict.fromkeys(("empty", "begun"), failed)))
    head = journal.read_text().partition("\n")[0] + "\n"
    for name, text in (("empty", ""), ("begun", head)):
        (tmp_path / name).mkdir()
        (tmp_path / name / journal.name).write_text(text)
    compare([tmp_path], None, new_console())
    shown = capsys.readouterr().out
    assert "yes: faster" in shown
    assert "failed on the host; 0 runs" in shown


def test_the_page_has_a_panel_for_each_machine() -> None:
    html = machines_page(results(first=SCALES, second=DOES_NOT), {})
    assert html.count("<figure>") == 1
    assert "echo: speed-up on 2 machines" in html
    for label in ("first", "second"):
        assert f">{label}</text>" in html
    assert "no: faster, slower" in html
    assert "<script" not in html


def test_studies_of_one_machine_are_compared_cell_by_cell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    same = study("same", blocks=2)
    compare([same.write(tmp_path / name).parent for name in ("a", "b")], None, new_console())
    assert "The studies were not run side by side" in capsys.readouterr().out
