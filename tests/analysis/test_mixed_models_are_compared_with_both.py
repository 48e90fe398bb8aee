"""Mixed models are compared with processes and with threads, and lose what each of these loses."""

import re
from dataclasses import replace

import pytest

from scaling.analysis.table.processes import process_cpu_s
from scaling.analysis.table.time_terms import WHOLE
from scaling.analysis.tables.derived import LOSS, MACHINE, SHARING
from scaling.base.errors import UsageError
from scaling.base.models import MODELS, PATTERN, checked_model, is_mixed
from scaling.journal.record import RunLine, ThreadUse
from scaling.study.questions import CPU, MEMORY, OVER_PROCESSES, OVER_THREADS, THROUGHPUT
from tests.support.runs import with_
from tests.support.studies import FakeStudy, one, where
from tests.support.terms import IDEAL, Terms, plus


def planned(study: FakeStudy) -> FakeStudy:
    """The cells that a plan has: one worker is not mixed."""
    cells = [each for each in study.every_cell if each.workers > 1 or not is_mixed(each.model)]
    return replace(study, cells=cells)


MIXED = planned(
    FakeStudy(
        configurations=(
            *(("3.14t", model) for model in ("threads", "mixed:2", "mixed-forked:2")),
            *(("3.14", model) for model in ("processes", "forked", "mixed:2")),
        ),
        workers=(1, 4),
        blocks=8,
        speeds={
            ("3.14t", "threads", 4): 2.0,
            ("3.14t", "mixed:2", 4): 3.0,
            ("3.14", "processes", 4): 2.5,
            ("3.14", "forked", 4): 2.4,
        },
        cores=4,
        logical=4,
    )
)


@pytest.mark.parametrize(
    ("question", "arm", "over", "times"),
    [
        (OVER_PROCESSES, "3.14t", ("processes", 4), 3.0 / 2.5),
        (OVER_THREADS, "3.14t", ("threads", 4), 3.0 / 2.0),
        ("gain", "3.14t", ("threads", 1), 3.0 / 0.97),
        (OVER_PROCESSES, "3.14", ("processes", 4), None),  # threads under a GIL in each process
    ],
)
def test_ratios_are_over_the_best_processes_over_threads_and_over_one_thread(
    question: str, arm: str, over: tuple[str, int], times: float | None
) -> None:
    rows = where(MIXED.study.ratios, question=question, arm=arm, model="mixed:2")
    found = one(rows, measure=THROUGHPUT)
    assert (found["workers"], found["over_model"], found["over_workers"]) == (4, *over)
    if times:
        assert found["ratio"] == pytest.approx(times, rel=0.03)
    if question != "gain":
        assert {THROUGHPUT, CPU, MEMORY} <= set(rows["measure"])


def test_a_planted_loss_is_divided_between_processes_and_threads() -> None:
    """Processes lose 1 µs an operation to the machine; mixed ones 2 µs more, threads 5 µs more."""
    lost = {"processes": 1_000.0, "mixed:2": 3_000.0, "threads": 6_000.0}

    def terms(_: str, model: str, n: int) -> Terms:
        return plus(blocked=lost[model]) if n > 1 else IDEAL

    made = FakeStudy(models=tuple(lost), workers=(1, 4), blocks=8, terms=terms, terms_noise=0.0)
    study = planned(made).study
    points = study.estimates.query("workers == 4").set_index(["measure", "model"])["point"]
    for model, whole in lost.items():
        assert points[LOSS.format(WHOLE.name), model] == pytest.approx(whole * 1e-9, rel=0.1)
    for model, sharing in (("mixed:2", 2e-6), ("threads", 5e-6)):
        assert points[MACHINE, model] == pytest.approx(1e-6, rel=0.25)
        assert points[SHARING, model] == pytest.approx(sharing, rel=0.1)


def changed(index: int, **fields: object) -> FakeStudy:
    """Four workers of mixed-forked:2 in one run, one of them with fields replaced."""

    def change(run: RunLine) -> RunLine:
        workers = list(run.record.workers if run.record else [])
        workers[index] = with_(workers[index], **fields)
        return with_(run, record__workers=workers)

    return FakeStudy(models=("mixed-forked:2",), workers=(4,), blocks=1, change=change)


@pytest.mark.parametrize(
    ("index", "fields", "said"),
    [
        (0, {}, ""),
        (
            3,
            {"thread": (1, 0)},
            "1, 1 is its place: the cell asks for 4 threads in 2 forked processes",
        ),
        (2, {"process": None}, "worker 2 did not report its process, which the first of each has"),
        (2, {"process__gc_frozen": False}, "worker 2 was not forked after gc.freeze()"),
    ],
)
def test_the_record_must_have_k_threads_in_each_process(
    index: int, fields: dict[str, object], said: str
) -> None:
    row = changed(index, **fields).row
    assert row["valid"] == (not said)
    assert said in " ".join(row["details"])


def test_a_process_for_two_threads_counts_its_cpu_time_once() -> None:
    run = changed(0).runs[0]
    assert run.record
    used = [ThreadUse(process_cpu_ns=ns) for ns in (10, 12, 30, 50)]
    workers = [with_(each, use=use) for each, use in zip(run.record.workers, used, strict=True)]
    read = with_(run, record__workers=workers)
    assert process_cpu_s(read) == pytest.approx((11 + 40) * 1e-9)
    assert process_cpu_s(read, finite=True) == pytest.approx((12 + 50) * 1e-9)
    threads = with_(read, cell=with_(read.cell, model="threads"))
    assert process_cpu_s(threads) == pytest.approx((10 + 12 + 30 + 50) / 4 * 1e-9)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("mixed:1", "mixed:1 has one thread in each process: ask for processes"),
        ("threads:2", "threads has no number of threads per process: leave out :2"),
    ],
)
def test_what_is_no_mixed_model_is_refused_in_a_line(given: str, said: str) -> None:
    with pytest.raises(UsageError) as error:
        checked_model(given, "--model")
    assert str(error.value).startswith("--model: ")
    assert said in str(error.value)


def test_every_model_is_what_a_study_file_may_say() -> None:
    for name in (*MODELS, "mixed:4", "mixed:cache", "mixed-forked:node"):
        assert checked_model(name, "models") == name
        assert re.match(PATTERN, name)
