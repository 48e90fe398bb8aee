"""What the journal holds is measured; what the plan holds besides is still to do, and only that."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaling.journal.record import Cell, RunLine
from scaling.run.session import Done, InterruptedStudyError, Replay
from scaling.study.plan.cells import Plan
from scaling.study.plan.order import PlannedRun, Slot, one_block
from tests.support.driving import (
    Pretended,
    doubts,
    driven,
    keys,
    small_plan,
)
from tests.support.runs import with_

CELLS = [
    Cell(workload="echo", loop="asyncio", arm="3.14t", model="threads", workers=n)
    for n in (1, 2, 3)
]


@pytest.fixture
def plan() -> Plan:
    return small_plan()


def test_an_interrupted_study_goes_on_with_what_is_missing(plan: Plan, tmp_path: Path) -> None:
    first = Pretended(stop_at=3)
    with pytest.raises(InterruptedStudyError, match=r"3 of \d+ runs.*same command"):
        driven(plan, tmp_path, first)
    second, told = driven(plan, tmp_path)
    assert told.began == (len(plan.runs), 3)
    assert keys(first.done) + keys(second.done) == keys(plan.runs)


@pytest.mark.slow
@given(st.data())
def test_wherever_a_study_stops_it_goes_on_as_if_it_had_not(data: st.DataObject) -> None:
    """The one order of runs and attempts, whatever was invalid, cut anywhere."""
    runs = [run for block in range(2) for run in one_block(map(Slot, CELLS), block, seed=3)]
    every = [(run, attempt) for run in runs for attempt in (1, 2)]
    judge = doubts(*data.draw(st.lists(st.sampled_from(every), unique=True)))

    def line_of(run: PlannedRun) -> RunLine:
        return with_(Pretended().line(run), outcome="measured")

    def on_from(done: list[RunLine]) -> list[RunLine]:
        done = list(done)
        while to_do := Replay.of(done, judge).remaining([(run,) for run in runs]):
            done.append(line_of(to_do[0][0]))
        return done

    whole = on_from([])
    cut = data.draw(st.integers(0, len(whole)))
    assert on_from(whole[:cut]) == whole
    assert [line.attempt for line in whole[: len(runs)]] == [1] * len(runs)
    again = Counter(keys(whole[len(runs) :]))
    assert again == Counter(keys([line for line in whole[: len(runs)] if judge(line)]))


def test_a_record_is_on_disk_before_the_next_run_starts(plan: Plan, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    lines_seen = []

    class Looking(Pretended):
        def __call__(self, run: PlannedRun) -> Done:
            lines_seen.append(path.read_bytes().count(b"\n"))
            return super().__call__(run)

    driven(plan, tmp_path, Looking())
    assert lines_seen == list(range(1, len(plan.runs) + 1))
