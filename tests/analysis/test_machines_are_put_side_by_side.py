"""Several machines: the word of each, and which words hold on all of them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from scaling.analysis.tables.study import Study
from scaling.base.console import new_console
from scaling.report.compare import compare, finish_several
from scaling.report.view.across import MACHINES, conclusions
from tests.support.studies import FakeStudy

pytestmark = pytest.mark.one_build

SCALES = {"3.14t": 1.0, "3.14": 0.8}
DOES_NOT = {"3.14t": 0.7, "3.14": 0.8}


def study(machine: str, speeds: Mapping[str, float], **asked: Any) -> FakeStudy:
    """Two threads and two processes, as if measured on that machine."""
    head = {"machine__id": machine, **asked.pop("head", {})}
    pairs = (("3.14t", "threads"), ("3.14", "processes"))
    usual = {
        "configurations": pairs,
        "workers": (1, 2),
        "blocks": 8,
        "noise": 0.005,
        "speeds": {(arm, model, n): n * speeds[arm] for arm, model in pairs for n in (1, 2)},
    }
    return FakeStudy(**{**usual, **asked}, head=head)


def holds(**machines: Study) -> dict[str, dict[str, str]]:
    """Of throughput over processes the word on each machine, and whether it holds everywhere."""
    found = conclusions(machines)
    found = found[found["question"] == "over processes"]
    return {
        str(holds): dict(zip(part["study"], part["word"], strict=True))
        for holds, part in found.groupby("holds")
    }


def test_a_word_holds_where_every_machine_says_the_same() -> None:
    found = holds(**{name: study(name, SCALES).study for name in "abc"})
    assert found == {"everywhere": dict.fromkeys("abc", "faster")}


def test_it_does_not_where_one_says_another() -> None:
    found = holds(a=study("a", SCALES).study, b=study("b", DOES_NOT).study)
    assert found == {"not everywhere": {"a": "faster", "b": "slower"}}


def test_it_is_undecided_where_one_has_too_few_blocks() -> None:
    few = study("few", SCALES, blocks=2).study
    assert list(holds(a=study("a", SCALES).study, b=few)) == ["undecided"]


def test_machines_are_shown_with_their_words() -> None:
    several = {"a": study("a", SCALES).study, "b": study("b", DOES_NOT).study}
    (grid,) = MACHINES.grids(several["a"], conclusions(several))
    rows = [[str(cell) for cell in row] for row in grid.rows]
    over = [row for row in rows if row[-1] == "not everywhere"]
    assert len(over) == 2
    assert {"faster" in " ".join(row) for row in over} == {True, False}


def test_a_machine_without_a_run_does_not_cost_the_answer_of_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], undrawn: None
) -> None:
    folders = {name: tmp_path / name for name in ("a", "b", "begun", "empty")}
    journal, _ = (study(name, SCALES).write(folders[name]) for name in ("a", "b"))
    head = journal.read_text().partition("\n")[0] + "\n"
    for name, text in (("empty", ""), ("begun", head)):
        folders[name].mkdir()
        (folders[name] / journal.name).write_text(text)
    finish_several(folders, new_console())
    shown = capsys.readouterr().out
    assert "everywhere" in shown
    assert "begun: " in shown
    assert "holds no run yet" in shown
    assert "empty: " in shown
    assert (folders["b"] / "report.html").exists()
    assert (tmp_path / "machines.md").exists()


def test_studies_of_one_machine_are_compared_cell_by_cell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    same = study("same", SCALES, blocks=2)
    compare([same.write(tmp_path / name).parent for name in ("a", "b")], None, new_console())
    assert "The two studies were not made side by side" in capsys.readouterr().out
