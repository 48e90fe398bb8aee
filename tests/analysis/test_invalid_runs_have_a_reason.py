"""Every known fault makes a run invalid or suspect, under its own name."""

from dataclasses import replace
from itertools import accumulate
from typing import Any

import pytest

from scaling.analysis.validity import CHECKS
from scaling.analysis.validity.served import SERVED_CHECKS
from scaling.journal.record import (
    Failure,
    GilStates,
    Record,
    RunLine,
    ServiceUse,
    Ticks,
    WorkerRecord,
    WorkloadNote,
)
from scaling.journal.record.of_child import Slices
from tests.support.runs import (
    MIB,
    Change,
    changing,
    changing_ticks,
    keeping_memory,
    of_workers,
    throttled,
    with_,
)
from tests.support.studies import FakeStudy, arm

ONE = FakeStudy(workers=(2,), blocks=1)


def judged(change: Change, study: FakeStudy = ONE) -> list[dict[str, Any]]:
    """The rows of a small study after a change to each of its runs."""
    return replace(study, change=change).rows


FLIPPED = GilStates(started=False, imported=True, opened=True, closed=True, enabled_by="_bad")


def flips_in_a_worker(run: RunLine) -> RunLine:
    """As under the model `processes`: the host is as it should be, one of its workers is not."""
    assert run.record is not None
    process = run.record.process
    first, *others = [
        with_(each, process=process, thread=(each.index, 0)) for each in run.record.workers
    ]
    workers = [with_(first, process__gil=FLIPPED), *others]
    return with_(run, cell__model="processes", record__workers=workers)


def late_for_slices(run: RunLine) -> RunLine:
    """Of its window, slices hold 0.4 s."""

    def short(times_ns: list[int]) -> list[int]:
        return [times_ns[0] + (each - times_ns[0]) // 5 for each in times_ns]

    def late(worker: WorkerRecord) -> WorkerRecord:
        its = worker.ticks
        ticks = with_(its, instant_ns=short(its.instant_ns), time_ns=short(its.time_ns))
        return with_(worker, slices=Slices(opened_ns=[0], closed_ns=[0]), ticks=ticks)

    return of_workers(run, late)


def starts_late(run: RunLine) -> RunLine:
    def later(worker: WorkerRecord) -> WorkerRecord:
        opened, closed = worker.ticks.time_ns[0], worker.ticks.time_ns[-1]
        return with_(worker, busy_from_ns=opened + (closed - opened) // 20)

    return of_workers(run, later)


def of_first(**changes: Any) -> Change:
    """Replaces fields of the first worker alone."""

    def change(run: RunLine) -> RunLine:
        assert run.record is not None
        first, *others = run.record.workers
        return with_(run, record__workers=[with_(first, **changes), *others])

    return change


def in_quarters(*rates: float) -> Change:
    """Every worker does so much of 1,000 operations between ticks, in each quarter of a window."""

    def change(ticks: Ticks) -> Ticks:
        each = [1000 * rate for rate in rates for _ in range(5)]
        return with_(ticks, operations=list(map(round, accumulate(each, initial=1000.0))))

    return changing_ticks(change)


def finite(first_ends: int = -1, **of_the_first: Any) -> Change:
    """As a finite run, whose first worker ends at this tick."""

    def ends(worker: WorkerRecord) -> WorkerRecord:
        its, last = worker.ticks, -1 if worker.index else first_ends
        names = ("instant_ns", "time_ns", "operations", "errors", "bytes")
        readings = {name: getattr(its, name) for name in names}
        return with_(
            worker, ticks=Ticks(**{name: [each[0], each[last]] for name, each in readings.items()})
        )

    change = of_first(**of_the_first)
    return lambda run: with_(change(of_workers(run, ends)), record__finite=True)


def leaves(**what: Any) -> Change:
    return lambda run: of_workers(run, lambda each: with_(each, **what))


def errs(share: float) -> Change:
    def erring(worker: WorkerRecord) -> WorkerRecord:
        errors = [round(count * share) for count in worker.ticks.operations]
        return with_(worker, ticks__errors=errors, error_samples=["bad title"])

    return lambda run: of_workers(run, erring)


def clock_goes_back(ticks: Ticks) -> Ticks:
    times = list(ticks.time_ns)
    times[4] = times[2]
    return with_(ticks, time_ns=times)


def loses_a_worker(run: RunLine) -> RunLine:
    assert run.record is not None
    return with_(run, record__workers=run.record.workers[:1])


def forks(run: RunLine) -> RunLine:
    """Asked for threads; each worker reports a process of its own."""
    assert run.record is not None
    process = run.record.process
    return of_workers(run, lambda worker: with_(worker, process=process))


def pinned(found: list[int] | None) -> Change:
    """Both workers were to be pinned; the second was `found` elsewhere, or did not report."""
    on = {0: [0], 1: found}
    return lambda run: with_(
        of_workers(run, lambda worker: with_(worker, cpus=on[worker.index])),
        placement__pinning=[[0], [1]],
    )


GAVE_UP = Record(
    schema=1,
    outcome="failed",
    failure=Failure(phase="setup", worker=1, error="OSError: no such host"),
)
ON = GilStates(started=True, imported=True, opened=True, closed=True)
UNREAD = GilStates(started=False, imported=False, opened=False)
NO_RECORD: dict[str, Any] = {"record": None}

LOST: list[tuple[Change, str]] = [
    (changing(record__process__gil=ON), "GIL: on, the arm asks for off"),
    (changing(record__process__gil=GilStates()), "GIL: not read back"),
    (changing(record__process__gil=UNREAD), "GIL: not read back at: closed"),
    (changing(record__process__version="3.14.6"), "Python: 3.14.6, the arm asks for 3.14.7"),
    (changing(record__process__free_threaded=False), "free-threaded build: off, the arm asks"),
    (
        changing(record__process__allocator="pymalloc"),
        "allocator: pymalloc, the arm asks for mimalloc",
    ),
    (changing(record__process__gc_enabled=False), "garbage collector: off"),
    (changing(record__process__debug=True), "asyncio debug mode: on"),
    (changing(record__loop__class_="uvloop.Loop"), "loop: uvloop.Loop, the cell asks for asyncio"),
    (changing(record__loop__class_=None), "loop: its class was not read back"),
    (of_first(loop_class="uvloop.Loop"), "loop: uvloop.Loop, the cell asks for"),
    (loses_a_worker, "workers: 1 in the record, the cell asks for 2"),
    (changing(cell__model="processes"), "worker 0 did not report its process"),
    (forks, "worker 0 had a process of its own"),
    (pinned([0, 1]), "worker 1 was on CPUs [0, 1], pinned to [1]"),
    (pinned(None), "worker 1 did not report which CPUs it was on"),
    (changing(record__process__hash_seed="random"), "random, the study asks for 1000003"),
]
"""All are of `settings-lost`."""

INVALID: list[tuple[str, Change, str]] = [
    *(("settings-lost", change, detail) for change, detail in LOST),
    ("gil-flipped", changing(record__process__gil=FLIPPED), "by importing _bad"),
    ("gil-flipped", flips_in_a_worker, "by importing _bad"),
    ("not-all-busy", starts_late, "busy for 95"),
    ("not-all-busy", of_first(ticks__operations=[7] * 21), "1 worker(s) finished no operation"),
    ("not-all-busy", finite(ticks__operations=[7, 7]), "1 worker(s) finished no operation at all"),
    ("slices-short", late_for_slices, "its slices have 0.4 s of 2: loops were late"),
    ("throttled", changing(disturbance__throttled_s=0.1), "for 0.10 s"),
    ("worker-errors", errs(0.05), "bad title"),
    (
        "service-gone",
        changing(services={"postgres": ServiceUse(ended="exit code 1")}),
        "the service postgres ended during the run (exit code 1)",
    ),
    (
        "clock-stepped",
        changing_ticks(
            lambda its: with_(its, instant_ns=[at + 10_000_000 for at in its.instant_ns])
        ),
        "ms before its instant",
    ),
    ("clock-stepped", changing_ticks(clock_goes_back), "not later than the one before"),
    (
        "clock-stepped",
        changing(disturbance__clock_step_s=-0.5),
        "moved -500 ms against the monotonic one",
    ),
    ("clock-stepped", changing(disturbance__clock_step_s=3600.0), "the machine slept"),
    ("clock-stepped", changing(disturbance__clock_step_s=0.0066), "moved +7 ms"),
    ("garbled", changing_ticks(lambda _: Ticks()), "do not fit together"),
    ("garbled", changing(outcome="garbled", **NO_RECORD), "exit code 0"),
    ("failed", changing(outcome="failed", record=GAVE_UP), "setup: OSError: no such host"),
    (
        "crashed",
        changing(outcome="crashed", signal=11, stderr="a\nSegv\n", **NO_RECORD),
        "signal 11; Segv",
    ),
    (
        "crashed",
        changing(outcome="crashed", exit_code=None, stderr="no nginx", **NO_RECORD),
        "('no nginx',)",  # the child did not begin
    ),
    (
        "timed-out",
        changing(outcome="timed-out", elapsed_s=3600.4, **NO_RECORD),
        "not finished after 3,600 s (a finite run has a limit: --limit or limit_s)",
    ),
]
SUSPECT: list[tuple[str, Change, str]] = [
    ("not-steady", in_quarters(1, 1, 1, 0.8), "the rate fell by 21.1% of its mean"),
    (
        "not-steady",
        in_quarters(0.8, 1, 1, 1),
        "warming: from one quarter of the window to a later one",
    ),
    ("uneven-finish", finite(6), "finished 70% of the time before the last"),
    ("worker-errors", errs(0.001), "bad title"),
    ("machine-busy", changing(disturbance__steal_fraction=0.05), "hypervisor took 5.0%"),
    ("machine-busy", changing(disturbance__other_cpu_fraction=0.25), "0.5 of 2 CPUs"),
    (
        "service-busy",
        changing(services={"site": ServiceUse(busy_fraction=0.8)}),
        "the service site was busy: one of its processes used 80% of a core",
    ),
    ("tasks-left", leaves(pending_tasks=3), "6 task(s) still ran after"),
    ("tasks-left", leaves(hung=True), "2 worker(s) never ended"),
    (
        "memory-impossible",
        changing(memory__rss_bytes=90 * MIB, memory__pss_bytes=96 * MIB),
        "PSS is 96.0 MiB, more than RSS with 90.0: they are not of the same moment",
    ),
]
FAULTS = [
    *((word, "invalid", change, detail) for word, change, detail in INVALID),
    *((word, "suspect", change, detail) for word, change, detail in SUSPECT),
]


@pytest.mark.parametrize(("word", "severity", "change", "detail"), FAULTS)
def test_a_fault_has_its_word(word: str, severity: str, change: Change, detail: str) -> None:
    (row,) = judged(change)
    assert row["reasons"] == (word,)
    assert row["validity"] == severity
    assert row["valid"] is (severity == "suspect")
    assert detail in str(row["details"])


def test_every_check_has_such_a_fault() -> None:
    checks = set(CHECKS) - set(SERVED_CHECKS)  # test_served_runs_have_reasons_of_their_own.py
    words = {word for word, *_ in FAULTS}
    assert {check.__name__.replace("_", "-") for check in checks} <= words


def test_several_faults_are_all_listed_the_gravest_first() -> None:
    slows = in_quarters(1, 1, 1, 0.8)
    (row,) = judged(lambda run: throttled(slows(run)))
    assert row["reasons"] == ("throttled", "not-steady")
    assert row["validity"] == "invalid"


@pytest.mark.parametrize(
    ("name", "version", "signal", "known"),
    [
        ("3.14t", "3.14.6", 11, True),
        ("3.14t", "3.14.6", 9, False),  # the system wanted its memory, say
        ("3.14", "3.14.6", 11, False),
    ],
)
def test_a_crash_that_is_known_of_a_build_is_named(
    name: str, version: str, signal: int, known: bool
) -> None:
    described = {name: with_(arm(name), description__python__version=version)}
    study = replace(ONE, arms=(name,), head={"arms": described})
    (row,) = judged(changing(outcome="crashed", record=None, signal=signal), study)
    assert ("cpython#153809" in str(row["details"])) is known


@pytest.mark.parametrize(
    ("build", "workers", "apart_ns", "is_idle"),
    [("3.14", 2, 0, False), ("3.14", 2, 9**9, True), ("3.14", 1, 0, True), ("3.14t", 2, 0, True)],
)
def test_a_thread_that_waits_for_the_gil_in_a_common_slice_is_not_idle(
    build: str, workers: int, apart_ns: int, is_idle: bool
) -> None:
    """Its run would be chosen by what it did: nothing in a half of its window."""
    done = list(accumulate([1000] * 5 + [0] * 10 + [1000] * 5, initial=1000))
    waits = of_first(ticks__operations=done, ticks__cpu_ns=[1000 * each for each in done])

    def in_slices(worker: WorkerRecord) -> WorkerRecord:
        return with_(worker, slices=Slices(opened_ns=[worker.index * apart_ns], closed_ns=[9**10]))

    study = replace(ONE, arms=(build,), workers=(workers,))
    (row,) = judged(lambda run: of_workers(waits(run), in_slices), study)
    assert ("not-all-busy" in row["reasons"]) is is_idle


@pytest.mark.parametrize(("usable", "reasons"), [(8, ("machine-busy",)), (2, ())])
def test_others_are_not_judged_where_some_cpus_are_not_ours(
    usable: int, reasons: tuple[str, ...]
) -> None:
    """An affinity mask or a quota: whether they were at work on our CPUs is unknown."""
    study = replace(ONE, cores=8, logical=8, head={"machine__usable_cpus": usable})
    (others,) = judged(changing(disturbance__other_cpu_fraction=0.9), study)
    (stolen,) = judged(changing(disturbance__steal_fraction=0.05), study)
    assert (others["reasons"], stolen["reasons"]) == (reasons, ("machine-busy",))


@pytest.mark.parametrize(
    ("sizing", "of_second", "workers", "details"),
    [
        ("weak", 8, 2, ()),
        ("weak", 7, 2, ("worker 1 had 7 in flight, its share is 8",)),
        ("strong", 9, 2, ("worker 1 had 9 in flight, its share is 8",)),
        ("strong", 8, 1, ("worker 0 had 8 in flight, its share is 16",)),
    ],
)
def test_a_worker_with_another_share_of_the_work_makes_a_run_invalid(
    sizing: str, of_second: int, workers: int, details: tuple[str, ...]
) -> None:
    """`echo` with 8 connections a worker, which all have but for the second."""
    study = FakeStudy(
        variants={"echo": [{"connections": 8}]},
        sizings=(sizing,),
        workers=(1, 2),
        blocks=1,
        head={"workloads": {"echo": WorkloadNote(in_flight="connections")}},
        options={"workloads": [{"name": "echo", "workers": [1, 2] if workers == 1 else [2]}]},
        change=lambda run: of_workers(
            run, lambda each: with_(each, in_flight=of_second) if each.index else each
        ),
    )
    (row,) = [each for each in study.rows if each["workers"] == workers]
    assert row["details"] == details


STOCK = FakeStudy(arms=("3.14",), workers=(1,), ticks=4)


@pytest.mark.parametrize("odd_blocks", [(2,), (0, 1), (3, 4, 5)])
def test_runs_of_a_cell_in_another_state_than_most_are_invalid(odd_blocks: tuple[int, ...]) -> None:
    def change(run: RunLine) -> RunLine:
        return keeping_memory(run) if run.block in odd_blocks else run

    for row in replace(STOCK, blocks=6, change=change).rows:
        odd = row["block"] in odd_blocks
        assert row["allocator_state"] == ("keeping" if odd else "mapping")
        assert row["reasons"] == (("mixed-allocator-state",) if odd else ())
        assert row["valid"] is not odd


def test_faults_that_merely_vary_are_one_state() -> None:
    def varies(run: RunLine) -> RunLine:
        def change(ticks: Ticks) -> Ticks:
            return with_(ticks, minor_faults=[(4 + run.block) * n for n in ticks.operations])

        return changing_ticks(change)(run)

    assert {row["validity"] for row in replace(STOCK, blocks=5, change=varies).rows} == {"valid"}
