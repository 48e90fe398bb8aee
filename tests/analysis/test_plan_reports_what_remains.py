"""`scaling plan --output DIR` says what of a study is measured, what is not, and writes nothing."""

import random
from collections.abc import Callable
from dataclasses import replace as replace_field
from pathlib import Path

import pytest
from msgspec.structs import replace

from scaling.journal.record import Line, RunLine
from scaling.run.prepare import Prepared
from scaling.run.remaining_work import lines, read_runs, work_in
from tests.support.cli import BUILD, Command
from tests.support.driving import prepared, small_plan
from tests.support.measured import RUNS, measured_study
from tests.support.runs import throttled, with_
from tests.support.studies import FakeStudy, write

type Whole = tuple[Line, list[RunLine]]
type Work = Callable[..., tuple[list[int], str]]


@pytest.fixture
def ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Prepared:
    """What a study of two blocks needs."""
    monkeypatch.setenv("SCALING_STATE", str(tmp_path / "state"))
    return prepared(small_plan())


@pytest.fixture
def whole(ready: Prepared) -> Whole:
    """The first line of its journal, and a valid run for each that is planned."""
    made, rng = FakeStudy(window_s=1.0), random.Random(1)
    runs = [
        with_(made.run(cell, rng, block=block, position=position), repeat=repeat)
        for block, position, cell, repeat, _ in ready.plan.runs
    ]
    return ready.first_line(), runs


@pytest.fixture
def work(ready: Prepared, tmp_path: Path) -> Work:
    """How many runs are measured, to do, to rerun and invalid; and what is said of them."""

    def of(*written: Line, folder: Path = tmp_path) -> tuple[list[int], str]:
        path = write(written, folder / "journal.jsonl")
        found = work_in(read_runs(path, pytest.fail), ready, same=True)
        totals = [found.total(column) for column in ("valid", "to_do", "again", "lost")]
        return totals, "\n".join(lines(found))

    return of


def test_what_is_missing_is_to_do(whole: Whole, work: Work) -> None:
    first, runs = whole
    totals, said = work(first, *runs)
    assert totals == [len(runs), 0, 0, 0]
    assert f"{len(runs)} of {len(runs)} runs measured, 2 of 2 blocks complete" in said
    assert "nothing remains to be measured" in said
    totals, said = work(first, *runs[:-3])
    assert totals == [len(runs) - 3, 3, 0, 0]
    assert f"{len(runs) - 3} of {len(runs)} runs measured, 1 of 2 blocks complete" in said
    assert "to do: 3 runs, " in said
    assert " s left" in said


def test_an_invalid_run_is_to_be_run_again_once(whole: Whole, work: Work) -> None:
    """A valid first attempt counts whatever came after."""
    first, (one, two, three, *others) = whole
    again = [throttled(with_(each, attempt=2)) for each in (two, three)]
    totals, said = work(first, throttled(one), throttled(two), three, *others, *again)
    assert totals == [len(others) + 1, 0, 1, 1]
    assert "1 of 2 blocks complete" in said
    assert "1 invalid run to run again: throttled" in said
    assert "1 run excluded: still invalid after a second attempt, or of a workload" in said


def test_what_would_not_be_resumed_is_said(
    whole: Whole, work: Work, ready: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, runs = whole
    totals, said = work(replace(first, workers_source="0" * 64), *runs[:3])
    assert totals[0] == 3
    assert "would start in another folder" in said
    assert "the source of the workers" in said
    _, said = work(replace(first, own_source="0" * 64), *runs[:3])
    assert "not the same as when this was measured: Python files below --path" in said
    monkeypatch.chdir(tmp_path)
    for folders, words in (
        ([tmp_path], "."),
        ([tmp_path / "src", tmp_path / "lib"], "src and lib"),
        ([tmp_path.parent], str(tmp_path.parent)),
    ):
        own = replace_field(ready, own_paths=[str(each) for each in folders])
        assert own.own_in_words == f"Python files below {words}"


@pytest.mark.slow
def test_what_remains_of_a_study_that_was_really_begun_is_printed(
    tmp_path_factory: pytest.TempPathFactory,
    tmp_path: Path,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On the machine on which it was measured."""
    state = measured_study(tmp_path_factory)
    monkeypatch.setenv("SCALING_STATE", str(state))
    monkeypatch.setenv("COLUMNS", "100")
    written = (state / "out" / "journal.jsonl").read_bytes()
    journal = tmp_path / "out" / "journal.jsonl"
    journal.parent.mkdir()
    journal.write_bytes(written.splitlines(keepends=True)[0])
    before = journal.read_bytes()
    done = command("plan", "--output", "out")
    assert done.returncode == 0, done.stderr
    assert " runs measured, 0 of 2 blocks complete" in done.stdout
    assert "resume with: scaling run --output out" in done.stdout
    table = [line.split() for line in done.stdout.splitlines() if f" {BUILD} " in line]
    assert {words[0] for words in table} == {"echo", "compute", "shared"}
    assert sum(int(words[-3]) for words in table) == RUNS
    assert [*journal.parent.iterdir()] == [journal]
    assert journal.read_bytes() == before
