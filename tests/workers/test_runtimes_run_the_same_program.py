"""Go, Node and Bun run every task of `spawn`; if one is not installed, that is reported."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from scaling.base.errors import UsageError
from scaling.builds.arms import parse_arm
from scaling.builds.prepared_arm import PreparedArm
from scaling.builds.runtimes.find import PROGRAMS, environment
from scaling.builds.runtimes.known import OWN_LOOP, RUNTIMES
from scaling.builds.runtimes.prepare import prepare_runtime
from scaling.journal.record import Record, WorkloadFacts
from scaling.run.child import Child, Ending, run_child
from scaling.study.plan.refusals import refusal
from tests.support.descriptions import description
from tests.support.fake_builds import say_nothing, script

SPAWN = WorkloadFacts(
    path="workers.workloads.spawn:Spawn", operation="tasks", in_flight="tasks", finite=True
)
LIKE = description(workloads={**description().workloads, "spawn": SPAWN})
LIMIT_S = 60.0


def prepared(name: str) -> PreparedArm:
    return prepare_runtime(parse_arm(name), LIKE, say_nothing)


def reason(arm: PreparedArm, workload: str = "spawn", **place: str) -> str | None:
    where = {"model": "threads", "loop": OWN_LOOP} | place
    factory = where.pop("factory", "lazy")
    return refusal(
        arm.description,
        {"factory": factory},
        workload=workload,
        model=where["model"],
        loop=where["loop"],
        sizing="weak",
    )


def ending(arm: PreparedArm, workers: int = 1, in_flight: int | None = None, **said: Any) -> Ending:
    cell = {
        "workload": "spawn",
        "loop": OWN_LOOP,
        "workers": workers,
        "in_flight": in_flight,
        "parameters": {"tasks": 1_000, "factory": "lazy", "pause_ms": 0.0} | said,
    }
    child = Child(arm.program, arm.environment, arm.arguments)
    return run_child(child, cell, limit_s=LIMIT_S)


def measured(arm: PreparedArm, workers: int = 1, **said: Any) -> Record:
    ended = ending(arm, workers, **said)
    assert ended.outcome == "measured", ended.stderr
    assert ended.record is not None
    return ended.record


def absent(arm: PreparedArm) -> bool:
    """Whether it is not on this machine, in which case it must have said so."""
    if arm.is_there:
        return False
    assert arm.runtime is None
    assert reason(arm) == f"{arm.arm.name} is not on PATH"
    return True


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", RUNTIMES)
def test_every_task_really_runs(name: str, workers: int) -> None:
    arm = prepared(name)
    if absent(arm):
        return
    record = measured(arm, workers, tasks=5_000)
    assert record.finite
    assert record.loop is not None
    assert record.loop.name == OWN_LOOP
    assert [worker.index for worker in record.workers] == list(range(workers))
    for worker in record.workers:
        assert worker.ticks.operations == [0, 5_000]
        assert worker.errors == 0
        assert worker.released_ns is not None
        assert worker.finished_ns is not None
        assert worker.released_ns < worker.finished_ns
    assert record.instants_ns.closed == max(each.finished_ns or 0 for each in record.workers)
    cpu_ns = sum((worker.ticks.cpu_ns or [0])[-1] or 0 for worker in record.workers)
    assert cpu_ns > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNTIMES)
def test_work_in_flight_is_dealt_out_as_to_pythons_workers(name: str) -> None:
    arm = prepared(name)
    if absent(arm):
        return
    record = measured(arm, 3, in_flight=1_000)
    assert [worker.ticks.operations[-1] for worker in record.workers] == [334, 333, 333]
    assert [worker.in_flight for worker in record.workers] == [334, 333, 333]


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNTIMES)
def test_tasks_can_pause(name: str) -> None:
    arm = prepared(name)
    if absent(arm):
        return
    (worker,) = measured(arm, tasks=100, pause_ms=30.0).workers
    assert worker.ticks.operations == [0, 100]
    first_ns, last_ns = worker.ticks.time_ns
    assert 29_000_000 < last_ns - first_ns < 100 * 30_000_000  # all at once, not in turn


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNTIMES)
def test_its_memory_is_read_from_outside(name: str) -> None:
    arm = prepared(name)
    if absent(arm):
        return
    memory = ending(arm).memory
    assert memory.baseline_rss_bytes
    assert memory.peak_bytes
    assert memory.peak_bytes >= memory.baseline_rss_bytes / 2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["node", "bun"])
def test_a_program_that_calls_nothing_is_found_out(name: str, tmp_path: Path) -> None:
    """The program of factor-2025: `Array(n).map` skips holes."""
    arm = prepared(name)
    if absent(arm):
        return
    text = (PROGRAMS / "spawn.mjs").read_text()
    calling = "Array.from({ length: tasks }, task)"
    assert calling in text
    theirs = tmp_path / "spawn.mjs"
    theirs.write_text(text.replace(calling, "Array(tasks).map(task)"))
    child = Child(arm.program, arm.environment, (str(theirs),))
    cell = {"workers": 1, "loop": OWN_LOOP, "parameters": {"tasks": 1_000}}
    record = run_child(child, cell, limit_s=LIMIT_S).record
    assert record is not None
    (worker,) = record.workers
    assert worker.ticks.operations == [0, 0]
    assert worker.errors == 1
    assert worker.error_samples == ["0 of 1000 tasks ran to their end"]


def test_what_is_not_on_path_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    said: list[str] = []
    for name in RUNTIMES:
        assert absent(prepare_runtime(parse_arm(name), LIKE, said.append))
    assert said == [f"{name} is left out: {name} is not on PATH" for name in RUNTIMES]


def test_broken_runtimes_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(tmp_path / "node", "echo 'a library is missing' >&2", "exit 127")
    script(tmp_path / "go", '[ "$1" = env ] && echo go9.99 && exit', "echo no room >&2", "exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/bin")
    monkeypatch.setenv("SCALING_CACHE", str(tmp_path / "cache"))
    assert reason(prepared("node")) == "node does not report its version: a library is missing"
    assert reason(prepared("go")) == "spawn.go does not compile: no room"


@pytest.fixture
def pretended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PreparedArm:
    """A `bun` that says what it was started with instead of a record's facts."""
    script(
        tmp_path / "bun",
        '[ "$1" = --version ] && echo 9.9.9 && exit',
        f'exec {sys.executable} {tmp_path}/pretend.py "$@"',
    )
    (tmp_path / "pretend.py").write_text(
        "import json, os, sys\n"
        "json.load(sys.stdin)\n"
        "facts = {'program': os.path.basename(sys.argv[1]), 'tuned': os.environ.get('BUN_X', '')}\n"
        "print(json.dumps({'schema': 1, 'outcome': 'measured', 'finite': True, 'facts': facts}))\n"
    )
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("BUN_X", "quicker")
    return prepared("bun")


@pytest.mark.slow
def test_it_is_found_by_its_name_and_run_with_its_program(pretended: PreparedArm) -> None:
    assert pretended.is_there
    assert not pretended.is_python
    assert pretended.runtime == "9.9.9"
    assert pretended.origin.startswith("PATH, program ")
    assert reason(pretended) is None
    assert measured(pretended).facts == {"program": "spawn.mjs", "tuned": ""}


def test_what_a_user_tunes_a_runtime_with_stays_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GOMAXPROCS", "GOGC", "NODE_OPTIONS", "BUN_JSC_numberOfGCMarkers"):
        monkeypatch.setenv(name, "1")
    assert not {"GOMAXPROCS", "GOGC", "NODE_OPTIONS"} & set(environment())
    assert "PATH" in environment()


def test_what_it_cannot_run_is_refused(pretended: PreparedArm) -> None:
    assert reason(pretended, "echo") == "only spawn is implemented for other runtimes"
    assert "not Python" in (reason(pretended, loop="asyncio") or "")
    assert "in one process" in (reason(pretended, model="processes") or "")
    assert reason(pretended, factory="eager") is None


def test_a_goroutine_is_never_eager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = '[ "$1" = build ] && echo > "$3"'
    script(tmp_path / "go", '[ "$1" = env ] && echo go9.99 && exit', made)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/bin")
    monkeypatch.setenv("SCALING_CACHE", str(tmp_path / "cache"))
    arm = prepared("go")
    assert reason(arm) is None
    assert reason(arm, factory="eager") == (
        "factory=eager: a goroutine starts when the scheduler runs it, never at once"
    )
    assert json.dumps(arm.arguments) == "[]"


def test_it_has_no_settings() -> None:
    assert parse_arm("go").name == "go"
    with pytest.raises(UsageError, match=r"arm 'go\+gil': go has no settings"):
        parse_arm("go+gil")
