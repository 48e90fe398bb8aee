"""A workload's own figures are averaged over workers, but for a largest and a total."""

from pathlib import Path

import pytest

import scaling
from scaling.analysis.table.run_fields import own_figures
from scaling.journal.record import Record, RunLine, WorkerRecord
from tests.support.fabricate import Made, journal, with_, write


def record(*figures: dict[str, float]) -> Record:
    workers = [WorkerRecord(index=place, figures=each) for place, each in enumerate(figures)]
    return Record(schema=1, outcome="measured", workers=workers)


def test_a_name_says_how() -> None:
    one = {"settle_s": 1.0, "timer_late_max_s": 0.5, "wakeups_total": 10.0}
    other = {"settle_s": 3.0, "timer_late_max_s": 0.1, "wakeups_total": 5.0}
    assert own_figures([record(one, other)]) == [
        {"settle_s": 2.0, "timer_late_max_s": 0.5, "wakeups_total": 15.0}
    ]


def test_a_worker_that_has_none_is_no_zero() -> None:
    assert own_figures([record({"settle_s": 4.0}, {})]) == [{"settle_s": 4.0}]


def test_a_word_within_a_word_means_nothing() -> None:
    found = own_figures([record({"maximal_s": 1.0}, {"maximal_s": 2.0})])
    assert found == [{"maximal_s": 1.5}]


def test_no_record_no_figures() -> None:
    assert own_figures([None, record({})]) == [{}, {}]


def test_the_frame_has_them(tmp_path: Path) -> None:
    def counts(run: RunLine) -> RunLine:
        assert run.record is not None
        workers = [with_(each, figures={"settle_s": 0.25}) for each in run.record.workers]
        return with_(run, record__workers=workers)

    made = Made(workers=(2,), blocks=1)
    frame = scaling.load(write(journal(made, counts), tmp_path / "j.jsonl"))
    assert frame["figures"].tolist() == [{"settle_s": pytest.approx(0.25)}]
