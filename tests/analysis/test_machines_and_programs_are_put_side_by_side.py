"""Several machines or programs: the word of each, which words hold on all, and what to ship."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from scaling.base.console import new_console
from scaling.report.compare import MACHINES, compare, conclusions, finish_several, programs
from tests.support.served_studies import FakeAppStudy
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


def test_a_word_holds_where_every_machine_says_the_same() -> None:
    same, other = study("a", SCALES).study, study("b", DOES_NOT).study
    few = study("few", SCALES, blocks=2).study
    for with_it, words, holds in (
        (study("b", SCALES).study, {"faster"}, "everywhere"),
        (other, {"faster", "slower"}, "not everywhere"),
        (few, {"faster", ""}, "undecided"),
        (study("b", SCALES, workers=(1,)).study, {"faster"}, "undecided"),  # at another N
    ):
        found = conclusions({"a": same, "b": with_it})
        found = found[found["question"] == "over processes"]
        assert (set(found["word"]), set(found["holds"])) == (words, {holds})
    (grid,) = MACHINES.grids(same, conclusions({"a": same, "b": other}))
    rows = [" ".join(map(str, row)) for row in grid.rows if str(row[-1]) == "not everywhere"]
    assert {"faster" in row for row in rows} == {True, False}


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


def app(name: str, speed: float = 1.0, **more: Any) -> FakeAppStudy:
    """What `scaling app` measures of a program whose threads are so much faster."""
    parameters = {"server": "loops", "application": f"{name}:app"}
    speeds = {("3.14t", "threads"): 1_000.0 * speed}
    usual = {"name": f"app-{name}", "parameters": parameters, "answers_per_s": speeds}
    return FakeAppStudy(**{"window_s": 6.0, "ticks": 4, **usual, **more})


def test_each_has_a_row_for_each_aim_and_one_without_threads_none() -> None:
    without = app("other", configurations=(("3.14", "processes"), ("3.14", "forked")))
    studies = {"shop": app("shop", 1.5), "inn": app("inn", 0.7), "other": without}
    found = programs({name: each.study for name, each in studies.items()})
    at_peak = found[found["measure"] == "throughput_per_s"].set_index("program")
    assert at_peak["word"].to_dict() == {"shop": "faster", "inn": "slower"}
    assert at_peak.loc["shop", "ship"] == "3.14t threads"
    assert str(at_peak.loc["inn", "ship"]).endswith((" processes", " forked"))
    assert found.groupby("program")["aim"].nunique().to_dict() == {"shop": 3, "inn": 3}


def test_compare_puts_studies_of_several_applications_side_by_side(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for each in (app("shop"), app("inn")):
        each.write(tmp_path / each.name)
    every = [tmp_path / name for name in ("app-shop", "app-inn")]
    compare(every, tmp_path / "out", new_console())
    assert "Programs side by side" in capsys.readouterr().out
    assert "| app-inn |" in (tmp_path / "out" / "comparison.md").read_text()
    compare(every[:1], None, new_console())
    assert "Programs" not in capsys.readouterr().out
