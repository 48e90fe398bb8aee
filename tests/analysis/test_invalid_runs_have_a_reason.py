"""Every known fault makes a run invalid or suspect, under its own name."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

import scaling
from scaling.analysis.validity import (
    CHECKS,
    SERVED_CHECKS,
    Expectation,
    expectation,
    other_build,
)
from scaling.builds.arms import parse_arm
from scaling.journal.record import (
    Failure,
    GilStates,
    ProcessFacts,
    PythonFacts,
    ReadBack,
    Record,
    RunLine,
    ServiceUse,
    StudyLine,
    Switch,
    Ticks,
    WorkerRecord,
    WorkloadNote,
    decode_line,
)
from scaling.journal.record.of_child import Slices
from tests.support.fabricate import MIB, Made, arm, journal, with_, write

type Change = Callable[[RunLine], RunLine]


def judged(tmp_path: Path, change: Change, made: Made | None = None) -> list[dict[str, object]]:
    """The rows of a small study after a change to each of its runs."""
    made = made or Made(workers=(2,), blocks=1)
    frame = scaling.load(write(journal(made, change), tmp_path / "journal.jsonl"))
    return [{str(key): value for key, value in row.items()} for row in frame.to_dict("records")]


def of_workers(run: RunLine, change: Callable[[WorkerRecord], WorkerRecord]) -> RunLine:
    assert run.record is not None
    return with_(run, record__workers=[change(worker) for worker in run.record.workers])


def of_ticks(run: RunLine, change: Callable[[Ticks], Ticks]) -> RunLine:
    return of_workers(
        run, lambda worker: msgspec.structs.replace(worker, ticks=change(worker.ticks))
    )


def same(run: RunLine) -> RunLine:
    return run


def flips(run: RunLine) -> RunLine:
    states = GilStates(started=False, imported=True, opened=True, closed=True, enabled_by="_bad")
    return with_(run, record__process__gil=states)


def late_for_slices(run: RunLine) -> RunLine:
    """Of its window, slices hold 0.4 s."""
    slices = Slices(opened_ns=[0], closed_ns=[0])

    def short(times_ns: list[int]) -> list[int]:
        return [times_ns[0] + (each - times_ns[0]) // 5 for each in times_ns]

    grouped = of_workers(run, lambda worker: with_(worker, slices=slices))
    return of_ticks(
        grouped,
        lambda ticks: with_(
            ticks, instant_ns=short(ticks.instant_ns), time_ns=short(ticks.time_ns)
        ),
    )


def never_was_free(run: RunLine) -> RunLine:
    states = GilStates(started=True, imported=True, opened=True, closed=True)
    return with_(run, record__process__gil=states)


def of_another_build(run: RunLine) -> RunLine:
    return with_(run, record__process__version="3.14.6")


def flips_in_a_worker(run: RunLine) -> RunLine:
    """As under the model `processes`: the host is as it should be, one of its workers is not."""
    assert run.record is not None
    bad = flips(run).record
    assert bad is not None
    sound = [
        msgspec.structs.replace(each, process=run.record.process) for each in run.record.workers
    ]
    flipped = msgspec.structs.replace(sound[0], process=bad.process)
    return with_(run, cell__model="processes", record__workers=[flipped, *sound[1:]])


def starts_late(run: RunLine) -> RunLine:
    def later(worker: WorkerRecord) -> WorkerRecord:
        opened, closed = worker.ticks.time_ns[0], worker.ticks.time_ns[-1]
        return msgspec.structs.replace(worker, busy_from_ns=opened + (closed - opened) // 20)

    return of_workers(run, later)


def one_idle(run: RunLine) -> RunLine:
    assert run.record is not None
    first, *others = run.record.workers
    idle = with_(first, ticks__operations=[7] * len(first.ticks.operations))
    return with_(run, record__workers=[idle, *others])


def slows_down(run: RunLine) -> RunLine:
    def slower(ticks: Ticks) -> Ticks:
        done, counts = 0.0, []
        for place in range(len(ticks.operations)):
            done += 1000 * (0.8 if place > 15 else 1.0)
            counts.append(round(done))
        return msgspec.structs.replace(ticks, operations=counts)

    return of_ticks(run, slower)


def finishes_early(run: RunLine) -> RunLine:
    """As a finite run: its first worker has but a few operations to do."""

    def finite(worker: WorkerRecord) -> WorkerRecord:
        its = worker.ticks
        last = -1 if worker.index else 6

        def ends(readings: list[int]) -> list[int]:
            return [readings[0], readings[last]]

        ticks = Ticks(
            instant_ns=ends(its.instant_ns),
            time_ns=ends(its.time_ns),
            operations=ends(its.operations),
            errors=ends(its.errors),
            bytes=ends(its.bytes),
        )
        return msgspec.structs.replace(worker, ticks=ticks)

    return with_(of_workers(run, finite), record__finite=True)


def leaves(**what: object) -> Change:
    return lambda run: of_workers(run, lambda each: msgspec.structs.replace(each, **what))


def errs(share: float) -> Change:
    def change(run: RunLine) -> RunLine:
        failing = of_ticks(
            run,
            lambda ticks: msgspec.structs.replace(
                ticks, errors=[round(count * share) for count in ticks.operations]
            ),
        )
        return of_workers(
            failing, lambda worker: msgspec.structs.replace(worker, error_samples=["bad title"])
        )

    return change


def ticks_early(run: RunLine) -> RunLine:
    return of_ticks(
        run,
        lambda ticks: msgspec.structs.replace(
            ticks, instant_ns=[instant + 10_000_000 for instant in ticks.instant_ns]
        ),
    )


def clock_goes_back(run: RunLine) -> RunLine:
    def back(ticks: Ticks) -> Ticks:
        times = list(ticks.time_ns)
        times[4] = times[2]
        return msgspec.structs.replace(ticks, time_ns=times)

    return of_ticks(run, back)


def rises(run: RunLine) -> RunLine:
    def faster(ticks: Ticks) -> Ticks:
        done, counts = 0.0, []
        for place in range(len(ticks.operations)):
            done += 1000 * (0.8 if place < 5 else 1.0)
            counts.append(round(done))
        return msgspec.structs.replace(ticks, operations=counts)

    return of_ticks(run, faster)


def reads_the_gil_no_more(run: RunLine) -> RunLine:
    states = GilStates(started=False, imported=False, opened=False)
    return with_(run, record__process__gil=states)


def loses_a_worker(run: RunLine) -> RunLine:
    assert run.record is not None
    return with_(run, record__workers=run.record.workers[:1])


def is_one_process(run: RunLine) -> RunLine:
    """Asked for processes; the first worker reports none of its own."""
    return with_(run, cell__model="processes")


def forks(run: RunLine) -> RunLine:
    """Asked for threads; each worker reports a process of its own."""
    assert run.record is not None
    process = run.record.process
    return of_workers(run, lambda worker: msgspec.structs.replace(worker, process=process))


def one_on_another_loop(run: RunLine) -> RunLine:
    assert run.record is not None
    first, second = run.record.workers
    other = msgspec.structs.replace(second, loop_class="uvloop.Loop")
    return with_(run, record__workers=[first, other])


def pinned(found: list[int] | None) -> Change:
    """Both workers were to be pinned; the second was `found` elsewhere, or did not report."""

    def change(run: RunLine) -> RunLine:
        on = {0: [0], 1: found}
        told = of_workers(
            run, lambda worker: msgspec.structs.replace(worker, cpus=on[worker.index])
        )
        return with_(told, cell__pinning=[[0], [1]])

    return change


def no_ticks(run: RunLine) -> RunLine:
    return of_ticks(run, lambda _: Ticks())


def gives_up(run: RunLine) -> RunLine:
    failure = Failure(phase="setup", worker=1, error="OSError: no such host")
    record = Record(schema=1, outcome="failed", failure=failure)
    return with_(run, outcome="failed", record=record)


FAULTS: list[tuple[str, str, Change, str]] = [
    ("gil-flipped", "invalid", flips, "by importing _bad"),
    ("gil-flipped", "invalid", flips_in_a_worker, "by importing _bad"),
    ("settings-lost", "invalid", never_was_free, "GIL: on, the arm asks for off"),
    ("settings-lost", "invalid", of_another_build, "Python: 3.14.6, the arm asks for 3.14.7"),
    (
        "settings-lost",
        "invalid",
        lambda run: with_(run, record__process__gil=GilStates()),
        "GIL: not read back",
    ),
    (
        "settings-lost",
        "invalid",
        lambda run: with_(run, record__process__allocator="pymalloc"),
        "allocator: pymalloc, the arm asks for mimalloc",
    ),
    (
        "settings-lost",
        "invalid",
        lambda run: with_(run, record__process__gc_enabled=False),
        "garbage collector: off",
    ),
    (
        "settings-lost",
        "invalid",
        lambda run: with_(run, record__process__debug=True),
        "asyncio debug mode: on",
    ),
    (
        "settings-lost",
        "invalid",
        lambda run: with_(run, record__loop__class_="SomeLoop"),
        "loop: SomeLoop, the cell asks for asyncio",
    ),
    (
        "settings-lost",
        "invalid",
        lambda run: with_(run, record__loop__class_="uvloop.Loop"),
        "loop: uvloop.Loop, the cell asks for asyncio",
    ),
    (
        "settings-lost",
        "invalid",
        lambda run: with_(run, record__loop__class_=None),
        "loop: its class was not read back",
    ),
    ("settings-lost", "invalid", one_on_another_loop, "loop: uvloop.Loop, the cell asks for"),
    ("settings-lost", "invalid", reads_the_gil_no_more, "GIL: not read back at: closed"),
    ("settings-lost", "invalid", loses_a_worker, "workers: 1 in the record, the cell asks for 2"),
    ("settings-lost", "invalid", is_one_process, "worker 0 did not report its process"),
    ("settings-lost", "invalid", forks, "worker 0 had a process of its own"),
    ("settings-lost", "invalid", pinned([0, 1]), "worker 1 was on CPUs [0, 1], pinned to [1]"),
    ("settings-lost", "invalid", pinned(None), "worker 1 did not report which CPUs it was on"),
    ("not-all-busy", "invalid", starts_late, "busy for 95"),
    ("not-all-busy", "invalid", one_idle, "1 worker(s) finished no operation"),
    ("slices-short", "invalid", late_for_slices, "its slices have 0.4 s of 2: loops were late"),
    ("not-steady", "suspect", slows_down, "the rate fell by 21.1% of its mean"),
    ("not-steady", "suspect", rises, "warming: from one quarter of the window to a later one"),
    (
        "uneven-finish",
        "suspect",
        finishes_early,
        "finished 70% of the time before the last",
    ),
    (
        "throttled",
        "invalid",
        lambda run: with_(run, disturbance__throttled_s=0.1),
        "for 0.10 s",
    ),
    ("worker-errors", "suspect", errs(0.001), "bad title"),
    ("worker-errors", "invalid", errs(0.05), "bad title"),
    (
        "machine-busy",
        "suspect",
        lambda run: with_(run, disturbance__steal_fraction=0.05),
        "hypervisor took 5.0%",
    ),
    (
        "machine-busy",
        "suspect",
        lambda run: with_(run, disturbance__other_cpu_fraction=0.25),
        "0.5 of 2 CPUs",
    ),
    (
        "service-gone",
        "invalid",
        lambda run: with_(run, services={"postgres": ServiceUse(ended="exit code 1")}),
        "the service postgres ended during the run (exit code 1)",
    ),
    (
        "service-busy",
        "suspect",
        lambda run: with_(run, services={"site": ServiceUse(busy_fraction=0.8)}),
        "the service site was busy: one of its processes used 80% of a core",
    ),
    ("clock-stepped", "invalid", ticks_early, "ms before its instant"),
    ("clock-stepped", "invalid", clock_goes_back, "not later than the one before"),
    (
        "clock-stepped",
        "invalid",
        lambda run: with_(run, disturbance__clock_step_s=-0.5),
        "moved -500 ms against the monotonic one",
    ),
    (
        "clock-stepped",
        "invalid",
        lambda run: with_(run, disturbance__clock_step_s=3600.0),
        "the machine slept",
    ),
    ("tasks-left", "suspect", leaves(pending_tasks=3), "6 task(s) still ran after"),
    ("tasks-left", "suspect", leaves(hung=True), "2 worker(s) never ended"),
    (
        "memory-impossible",
        "suspect",
        lambda run: with_(run, memory__rss_bytes=90 * MIB, memory__pss_bytes=96 * MIB),
        "PSS is 96.0 MiB, more than RSS with 90.0: they are not of the same moment",
    ),
    ("garbled", "invalid", no_ticks, "do not fit together"),
    ("failed", "invalid", gives_up, "setup: OSError: no such host"),
    (
        "crashed",
        "invalid",
        lambda run: with_(run, outcome="crashed", record=None, signal=11, stderr="a\nSegv\n"),
        "signal 11; Segv",
    ),
    (
        "crashed",
        "invalid",
        lambda run: with_(run, outcome="crashed", record=None, exit_code=None, stderr="no nginx"),
        "('no nginx',)",  # the child did not begin
    ),
    (
        "timed-out",
        "invalid",
        lambda run: with_(run, outcome="timed-out", record=None, elapsed_s=3600.4),
        "not finished after 3,600 s (a finite run has a limit: --limit or limit_s)",
    ),
    ("garbled", "invalid", lambda run: with_(run, outcome="garbled", record=None), "exit code 0"),
]


@pytest.mark.parametrize(("word", "severity", "change", "detail"), FAULTS)
def test_a_fault_has_its_word(
    tmp_path: Path, word: str, severity: str, change: Change, detail: str
) -> None:
    (row,) = judged(tmp_path, change)
    assert row["reasons"] == (word,)
    assert row["validity"] == severity
    assert row["valid"] is (severity == "suspect")
    assert detail in str(row["details"])


@pytest.mark.parametrize(
    ("name", "version", "signal", "known"),
    [
        ("3.14t", "3.14.6", 11, True),
        ("3.14t", "3.14.6", 9, False),  # the system wanted its memory, say
        ("3.14t", "3.14.7", 11, False),
        ("3.14", "3.14.6", 11, False),
    ],
)
def test_a_crash_that_is_known_of_a_build_is_named(
    tmp_path: Path, name: str, version: str, signal: int, known: bool
) -> None:
    study, *runs = journal(
        Made(arms=(name,), workers=(2,), blocks=1),
        lambda run: with_(run, outcome="crashed", record=None, signal=signal),
    )
    described = {name: with_(arm(name), description__python__version=version)}
    path = write([with_(study, arms=described), *runs], tmp_path / "journal.jsonl")
    (detail,) = scaling.load(path)["details"]
    assert ("cpython#153809" in str(detail)) is known


@pytest.mark.parametrize("name", ["3.14", "3.14+mimalloc", "3.14t+gil", "3.14t", "3.14t+nogc"])
@pytest.mark.parametrize("model", ["threads", "processes"])
def test_a_run_without_fault_is_valid(tmp_path: Path, name: str, model: str) -> None:
    made = Made(arms=(name,), models=(model,), workers=(1, 2, 4), blocks=2)
    assert {row["validity"] for row in judged(tmp_path, same, made)} == {"valid"}


SWITCHED = Made(arms=("3.14+io-uring", "3.14t+new-scheduler"), workers=(1,), blocks=1)


def test_switches_that_were_read_back_are_as_the_arm_asks(tmp_path: Path) -> None:
    assert {row["validity"] for row in judged(tmp_path, same, SWITCHED)} == {"valid"}


def test_a_switch_that_was_lost_makes_a_run_invalid(tmp_path: Path) -> None:
    def off(run: RunLine) -> RunLine:
        lost = Switch(name="asyncio.events._USE_NEW_SCHEDULER", value=False, was_there=True)
        return with_(run, record__process__switches=(lost,))

    rows = judged(tmp_path, off, SWITCHED)
    assert {row["reasons"] for row in rows} == {("settings-lost",)}
    assert {str(row["details"]) for row in rows} == {
        "('PYTHONASYNCIOUSEIOURING: not read back, the arm asks for 1',)",
        "('asyncio.events._USE_NEW_SCHEDULER: off, the arm asks for on',)",
    }
    assert {row["validity"] for row in rows} == {"invalid"}


def test_a_journal_from_before_there_were_switches_is_read(tmp_path: Path) -> None:
    path = write(journal(Made(workers=(1,), blocks=1)), tmp_path / "journal.jsonl")
    text = path.read_text()
    assert '"switches":[],' in text
    path.write_text(text.replace('"switches":[],', ""))
    assert scaling.load(path)["valid"].all()


def test_every_check_finds_something_in_these_tests(tmp_path: Path) -> None:
    words = {word for word, *_ in FAULTS}
    checks = set(CHECKS) - set(SERVED_CHECKS)  # test_served_runs_have_reasons_of_their_own.py
    assert {check.__name__.replace("_", "-") for check in checks} <= words
    assert len({row["validity"] for row in judged(tmp_path, same)}) == 1


def test_several_faults_are_all_listed_the_gravest_first(tmp_path: Path) -> None:
    (row,) = judged(tmp_path, lambda run: slows_down(with_(run, disturbance__throttled_s=1.0)))
    assert row["reasons"] == ("throttled", "not-steady")
    assert row["validity"] == "invalid"


@pytest.mark.parametrize(
    "rss_mib", [96, 95.5, None]
)  # the counters behind RSS, in older journals, lag by some pages
def test_memory_of_one_moment_has_no_fault(tmp_path: Path, rss_mib: float | None) -> None:
    rss_bytes = None if rss_mib is None else round(rss_mib * MIB)
    (row,) = judged(
        tmp_path, lambda run: with_(run, memory__rss_bytes=rss_bytes, memory__pss_bytes=96 * MIB)
    )
    assert row["reasons"] == ()


def test_others_may_work_on_cores_that_the_workers_do_not_need(tmp_path: Path) -> None:
    def busy(run: RunLine) -> RunLine:
        return with_(run, disturbance__other_cpu_fraction=0.4)

    made = Made(workers=(1, 8), cores=8, logical=8, blocks=1)
    found = {row["workers"]: row["reasons"] for row in judged(tmp_path, busy, made)}
    assert found == {1: (), 8: ("machine-busy",)}


@pytest.mark.parametrize(("usable", "reasons"), [(8, ("machine-busy",)), (2, ())])
def test_others_are_not_judged_where_some_cpus_are_not_ours(
    tmp_path: Path, usable: int, reasons: tuple[str, ...]
) -> None:
    """An affinity mask or a quota: whether they were at work on our CPUs is unknown."""

    def found(change: Change) -> object:
        head, *runs = journal(Made(workers=(2,), cores=8, logical=8, blocks=1), change)
        lines = [with_(head, machine__usable_cpus=usable), *runs]
        return scaling.load(write(lines, tmp_path / "journal.jsonl"))["reasons"].tolist()

    assert found(lambda run: with_(run, disturbance__other_cpu_fraction=0.9)) == [reasons]
    assert found(lambda run: with_(run, disturbance__steal_fraction=0.05)) == [("machine-busy",)]


@pytest.mark.parametrize("busy", [0.7, None])
def test_a_service_with_time_to_spare_is_no_fault(tmp_path: Path, busy: float | None) -> None:
    rows = judged(
        tmp_path, lambda run: with_(run, services={"site": ServiceUse(busy_fraction=busy)})
    )
    assert rows[0]["validity"] == "valid"


def test_what_a_machine_cannot_report_is_no_fault(tmp_path: Path) -> None:
    def blank(run: RunLine) -> RunLine:
        quiet = with_(run, disturbance__steal_fraction=None, disturbance__throttled_s=None)
        return with_(quiet, disturbance__other_cpu_fraction=None)

    assert judged(tmp_path, blank)[0]["validity"] == "valid"


def test_a_clock_that_is_merely_slewed_has_not_stepped(tmp_path: Path) -> None:
    """NTP may move a clock by 500 µs a second; these runs took 3 s."""
    slewed = judged(tmp_path, lambda run: with_(run, disturbance__clock_step_s=0.0064))
    assert slewed[0]["validity"] == "valid"
    stepped = judged(tmp_path, lambda run: with_(run, disturbance__clock_step_s=0.0066))
    assert stepped[0]["reasons"] == ("clock-stepped",)


def test_workers_on_the_cpus_that_they_were_pinned_to_are_as_they_should_be(
    tmp_path: Path,
) -> None:
    assert judged(tmp_path, pinned([1]))[0]["validity"] == "valid"


def shares(
    tmp_path: Path, sizing: str, of_second: int, counts: tuple[int, ...] = (2,)
) -> list[object]:
    """Details of a study of `echo` with 8 connections a worker (all have 8), but for one worker."""

    def change(run: RunLine) -> RunLine:
        return of_workers(
            run,
            lambda each: each if not each.index else with_(each, in_flight=of_second),
        )

    made = Made(
        variants={"echo": [{"connections": 8}]}, sizings=(sizing,), workers=counts, blocks=1
    )
    head, *runs = journal(made, change)
    entry = {"name": "echo", "workers": list(counts)}
    note = WorkloadNote(in_flight="connections")
    study = with_(head, workloads={"echo": note}, study={"workloads": [entry]})
    frame = scaling.load(write([study, *runs], tmp_path / "journal.jsonl"))
    return list(frame.sort_values("workers")["details"])


def test_a_worker_with_another_share_of_the_work_makes_a_run_invalid(tmp_path: Path) -> None:
    assert shares(tmp_path, "weak", 8) == [()]
    assert shares(tmp_path, "weak", 7) == [("worker 1 had 7 in flight, its share is 8",)]
    assert shares(tmp_path, "strong", 8) == [()]
    assert shares(tmp_path, "strong", 9) == [("worker 1 had 9 in flight, its share is 8",)]
    one, two = shares(tmp_path, "strong", 8, (1, 2))
    assert (one, two) == (("worker 0 had 8 in flight, its share is 16",), ())


@pytest.mark.parametrize(("seed", "block"), [("1000003", 0), ("1000004", 1), (None, 0)])
def test_a_process_that_hashes_as_its_block_is_no_fault(
    tmp_path: Path, seed: str | None, block: int
) -> None:
    """Other runtimes report no seed."""

    def change(run: RunLine) -> RunLine:
        return with_(run, block=block, record__process__hash_seed=seed)

    assert judged(tmp_path, change)[0]["validity"] == "valid"


@pytest.mark.parametrize("seed", ["random", "1000004"])
def test_a_process_that_hashes_otherwise_makes_a_run_invalid(tmp_path: Path, seed: str) -> None:
    (row,) = judged(tmp_path, lambda run: with_(run, record__process__hash_seed=seed))
    assert row["details"] == (f"hash seed: {seed}, the study asks for 1000003",)


def test_only_the_process_at_fault_is_named_among_many(tmp_path: Path) -> None:
    """Processes that report the same are judged once, whichever runs they are of."""

    def change(run: RunLine) -> RunLine:
        if run.block != 1:
            return run
        first, *others = run.record.workers if run.record else []
        wrong = with_(first, process__gc_threshold=7, process__gc_enabled=False)
        other = [with_(each, process__allocator="malloc") for each in others]
        return with_(run, record__workers=[wrong, *other])

    made = Made(arms=("3.14t",), models=("processes",), workers=(2,), blocks=3)
    found = {row["block"]: row["details"] for row in judged(tmp_path, change, made)}
    assert found == {0: (), 1: ("garbage collector: off, the arm asks for on",), 2: ()}


@pytest.mark.parametrize("settings", [[], ["jit"]])
def test_an_arm_is_judged_by_what_it_promised_when_it_was_measured(
    tmp_path: Path, settings: list[str]
) -> None:
    """Also one with a setting that this version does not have, or that means something else now."""
    head, *runs = journal(Made(workers=(1,), blocks=1))
    promised = ReadBack(gil_enabled=False, allocator="jemalloc", gc_enabled=True)
    made = msgspec.structs.replace(arm("3.14t"), settings=settings, expected=promised)
    lines = [with_(head, arms={"3.14t": made}), *runs]
    (reasons,) = scaling.load(write(lines, tmp_path / "journal.jsonl"))["details"]
    assert reasons == ("allocator: mimalloc, the arm asks for jemalloc",)
    kept = [with_(run, record__process__allocator="jemalloc") for run in runs]
    assert scaling.load(write([lines[0], *kept], tmp_path / "kept.jsonl"))["valid"].all()


def test_a_study_line_records_what_each_arm_promises(tmp_path: Path) -> None:
    head = journal(Made(arms=("3.14+mimalloc",)))[0]
    promised = parse_arm("3.14+mimalloc").expected
    made = msgspec.structs.replace(arm("3.14+mimalloc"), expected=promised)
    path = write([with_(head, arms={"3.14+mimalloc": made})], tmp_path / "journal.jsonl")
    (read,) = (decode_line(line) for line in path.read_bytes().splitlines())
    assert isinstance(read, StudyLine)
    assert read.arms["3.14+mimalloc"].expected == promised


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (2_000, ("threshold of the collector: 2,000, the arm asks for 50,000",)),
        (None, ("threshold of the collector: not read back, the arm asks for 50,000",)),
        (50_000, ()),
    ],
)
def test_a_collector_with_another_threshold_is_noticed(
    found: int | None, said: tuple[str, ...], tmp_path: Path
) -> None:
    head, *runs = journal(Made(arms=("3.14t+gc50k",), workers=(1,), blocks=1))
    changed = [with_(run, record__process__gc_threshold=found) for run in runs]
    (details,) = scaling.load(write([head, *changed], tmp_path / "journal.jsonl"))["details"]
    assert details == said


def test_an_arm_promises_what_its_name_says() -> None:
    for name, gil, allocator, collector in (
        ("3.14", True, "pymalloc", True),
        ("3.14+mimalloc", True, "mimalloc", True),
        ("3.14t+gil", True, "mimalloc", True),
        ("3.14t+nogc", False, "mimalloc", False),
    ):
        promised = expectation(arm(name), 2)
        description = arm(name).description
        assert description is not None
        assert promised == Expectation(
            ReadBack(gil_enabled=gil, allocator=allocator, gc_enabled=collector),
            2,
            python=description.python,
        )


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ({"version": "3.14.6"}, "Python: 3.14.6, the arm asks for 3.14.7"),
        ({"free_threaded": False}, "free-threaded build: off, the arm asks for on"),
        (
            {"context_aware_warnings": 0},
            "context_aware_warnings: off, the arm asks for on",
        ),
        ({}, None),
        ({"version": None, "free_threaded": None}, None),  # a journal of old
    ],
)
def test_a_process_of_another_build_is_not_the_arms(
    found: dict[str, object], told: str | None
) -> None:
    free = {"version": "3.14.7", "free_threaded": True, "context_aware_warnings": 1}
    process = msgspec.convert(free | found, ProcessFacts)
    python = PythonFacts(version="3.14.7", free_threaded=True, context_aware_warnings=1)
    assert other_build(process, python) == told
    assert other_build(process, None) is None


def test_a_run_of_an_arm_that_the_study_does_not_have_is_invalid(tmp_path: Path) -> None:
    head, *runs = journal(Made(workers=(1,), blocks=1))
    frame = scaling.load(write([with_(head, arms={}), *runs], tmp_path / "journal.jsonl"))
    assert frame["reasons"].tolist() == [("settings-lost",)]
    assert frame["details"].tolist() == [("the arm 3.14t is not one of the study",)]


@pytest.mark.parametrize("odd_blocks", [(2,), (0, 1), (3, 4, 5)])
def test_allocator_states_are_never_mixed(tmp_path: Path, odd_blocks: tuple[int, ...]) -> None:
    def keeps(run: RunLine) -> RunLine:
        if run.block not in odd_blocks:
            return run
        return of_ticks(
            run, lambda ticks: msgspec.structs.replace(ticks, minor_faults=[5] * len(ticks.time_ns))
        )

    rows = judged(tmp_path, keeps, Made(arms=("3.14",), workers=(1,), blocks=6))
    for row in rows:
        odd = row["block"] in odd_blocks
        assert row["allocator_state"] == ("keeping" if odd else "mapping")
        assert row["reasons"] == (("mixed-allocator-state",) if odd else ())
        assert row["valid"] is not odd


def test_states_of_different_cells_are_not_compared_with_each_other(tmp_path: Path) -> None:
    def keeps(run: RunLine) -> RunLine:
        if run.cell.workers == 1:
            return run
        return of_ticks(
            run, lambda ticks: msgspec.structs.replace(ticks, minor_faults=[5] * len(ticks.time_ns))
        )

    rows = judged(tmp_path, keeps, Made(arms=("3.14",), workers=(1, 2), blocks=3))
    assert {row["validity"] for row in rows} == {"valid"}


def test_faults_that_merely_vary_are_one_state(tmp_path: Path) -> None:
    def varies(run: RunLine) -> RunLine:
        per_operation = 4 + run.block
        return of_ticks(
            run,
            lambda ticks: msgspec.structs.replace(
                ticks, minor_faults=[per_operation * count for count in ticks.operations]
            ),
        )

    rows = judged(tmp_path, varies, Made(arms=("3.14",), workers=(1,), blocks=5))
    assert {row["validity"] for row in rows} == {"valid"}
