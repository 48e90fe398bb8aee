"""Go, Node and Bun run `spawn` and `echo` as Python does; one that is not installed says so."""

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scaling.base.errors import UsageError
from scaling.builds.arms import parse_arm
from scaling.builds.prepared_arm import PreparedArm, prepare_runtime
from scaling.builds.runtimes import OWN_LOOP, PROGRAMS, RUNTIMES, environment
from scaling.journal.record import ParameterFacts, Record, WorkloadFacts
from scaling.run.child import Child, Ending, Run, run_child
from tests.support.children import PATIENCE_S, record_of
from tests.support.descriptions import description
from tests.support.fake_builds import say_nothing, script
from tests.support.plans import why_refused

pytestmark = pytest.mark.one_build

SPAWN = WorkloadFacts(
    path="workers.workloads.spawn:Spawn",
    operation="tasks",
    in_flight="tasks",
    finite=True,
    parameters={
        "factory": ParameterFacts(type="str", default="lazy", choices=["lazy", "eager"]),
    },
)

LIKE = description(workloads={**description().workloads, "spawn": SPAWN})

BOTH = [
    pytest.param(name, model, marks=pytest.mark.needs(name))
    for name, runtime in RUNTIMES.items()
    for model in runtime.models
]

EACH = [pytest.param(name, marks=pytest.mark.needs(name)) for name in RUNTIMES]


def prepared(name: str) -> PreparedArm:
    return prepare_runtime(parse_arm(name), LIKE, say_nothing)


def reason(
    arm: PreparedArm,
    workload: str = "spawn",
    model: str = "threads",
    loop: str = OWN_LOOP,
    **parameters: str,
) -> str | None:
    return why_refused(arm.description, workload, parameters, model=model, loop=loop)


CELLS: dict[str, dict[str, Any]] = {
    "spawn": {"parameters": {"tasks": 1_000, "factory": "lazy", "pause_ms": 0.0}},
    "echo": {
        "parameters": {"connections": 4, "payload_bytes": 1_000, "work_us": 0.0},
        "warmup_s": 0.05,
        "window_s": 0.6,  # longer than a machine may stall, if it is busy
        "ticks": 3,
    },
}


def ending(
    arm: PreparedArm,
    workers: int = 1,
    in_flight: int | None = None,
    workload: str = "spawn",
    model: str = "threads",
    **said: Any,
) -> Ending:
    asked = CELLS[workload]
    cell = asked | {
        "workload": f"workers.workloads.{workload}:{workload.title()}",
        "loop": OWN_LOOP,
        "model": model,
        "workers": workers,
        "in_flight": in_flight,
        "parameters": asked["parameters"] | said,
    }
    child = Child(arm.program, arm.environment, arm.arguments)
    return run_child(Run(child, cell, PATIENCE_S))


def measured(arm: PreparedArm, workers: int = 1, **said: Any) -> Record:
    return record_of(ending(arm, workers, **said))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "model"), BOTH)
def test_every_task_really_runs(name: str, model: str) -> None:
    """However many each worker has, and pauses are at the same time."""
    arm, workers = prepared(name), 2
    ended = ending(arm, workers, model=model, in_flight=1_001, pause_ms=30.0)
    memory, record = ended.memory, record_of(ended)
    assert memory.baseline_rss_bytes
    assert (memory.peak_bytes or 0) >= memory.baseline_rss_bytes / 2
    assert record.finite
    assert record.loop
    assert record.loop.name == OWN_LOOP
    assert [worker.index for worker in record.workers] == list(range(workers))
    for worker, tasks in zip(record.workers, (501, 500), strict=True):
        assert worker.ticks.operations == [0, tasks]
        assert (worker.in_flight, worker.errors) == (tasks, 0)
        first_ns, last_ns = worker.ticks.time_ns
        assert 29_000_000 < last_ns - first_ns < tasks * 30_000_000
        assert 0 < (worker.released_ns or 0) < (worker.finished_ns or 0)
    assert record.instants_ns.closed == max(each.finished_ns or 0 for each in record.workers)
    assert sum((worker.ticks.cpu_ns or [0])[-1] or 0 for worker in record.workers) > 0
    if name == "go":
        assert record.facts == {"GOMAXPROCS": "2" if model == "threads" else "1"}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "model"), BOTH)
def test_all_workers_echo_in_one_window(name: str, model: str) -> None:
    arm, workers = prepared(name), 2
    asked = {"in_flight": 8, "payload_bytes": 200_000, "work_us": 1.0}
    record = measured(arm, workers, workload="echo", model=model, **asked)
    opened, closed = record.instants_ns.opened, record.instants_ns.closed
    assert not record.finite
    assert opened
    assert closed == opened + 600_000_000
    assert [worker.index for worker in record.workers] == list(range(workers))
    assert [worker.process is None for worker in record.workers] == [model == "threads"] * workers
    for worker in record.workers:
        ticks = worker.ticks
        assert ticks.instant_ns == [opened + k * 200_000_000 for k in range(4)]
        assert all(at >= due for at, due in zip(ticks.time_ns, ticks.instant_ns, strict=True))
        assert sorted(ticks.operations) == ticks.operations
        assert ticks.operations[-1] > ticks.operations[0]
        assert 0 < (worker.busy_from_ns or 0) < opened
        assert (worker.busy_until_ns or 0) >= closed
        assert worker.in_flight == 4
        assert (worker.errors, worker.finished_ns) == (0, None)


@pytest.mark.slow
@pytest.mark.parametrize("name", EACH)
def test_a_workload_it_does_not_have_ends_the_run(name: str) -> None:
    arm = prepared(name)
    child = Child(arm.program, arm.environment, arm.arguments)
    ended = run_child(Run(child, {"workload": "none", "workers": 1, "parameters": {}}, PATIENCE_S))
    assert ended.outcome == "crashed"
    assert "none" in ended.stderr
    if name == "go":
        ended = ending(arm, 2, model="processes", tasks="many")
        assert ended.outcome == "crashed"
        assert "tasks" in ended.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", [each for each in EACH if each.values != ("go",)])
def test_a_program_that_calls_nothing_is_found_out(name: str, tmp_path: Path) -> None:
    """The program of factor-2025: `Array(n).map` skips holes."""
    arm = prepared(name)
    theirs = shutil.copytree(PROGRAMS / "javascript", tmp_path / "javascript")
    text = (theirs / "spawn.mjs").read_text()
    calling = "Array.from({ length: tasks }, task)"
    assert calling in text
    (theirs / "spawn.mjs").write_text(text.replace(calling, "Array(tasks).map(task)"))
    (worker,) = measured(replace(arm, arguments=(str(theirs / "main.mjs"),))).workers
    assert worker.ticks.operations == [0, 0]
    assert worker.errors == 1
    assert worker.error_samples == ["0 of 1000 tasks ran to their end"]


def test_it_has_no_settings_of_an_arm_or_of_a_user(monkeypatch: pytest.MonkeyPatch) -> None:
    assert parse_arm("go").name == "go"
    with pytest.raises(UsageError, match=r"arm 'go\+gil': go has no settings"):
        parse_arm("go+gil")
    for name in ("GOMAXPROCS", "GOGC", "NODE_OPTIONS", "BUN_JSC_numberOfGCMarkers"):
        monkeypatch.setenv(name, "1")
    assert not {"GOMAXPROCS", "GOGC", "NODE_OPTIONS"} & set(environment())
    assert "PATH" in environment()


def test_broken_runtimes_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(tmp_path / "node", "echo 'a library is missing' >&2", "exit 127")
    script(tmp_path / "go", '[ "$1" = env ] && echo go9.99 && exit', "echo no room >&2", "exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/bin")
    monkeypatch.setenv("SCALING_CACHE", str(tmp_path / "cache"))
    assert reason(prepared("node")) == "node does not report its version: a library is missing"
    assert reason(prepared("go")) == "the program of go does not compile: no room"


@pytest.fixture
def pretended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PreparedArm:
    """A `bun` that knows its version, and nothing else."""
    script(tmp_path / "bun", "echo 9.9.9")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    found = prepared("bun")
    assert (found.is_there, found.is_python, found.runtime) == (True, False, "9.9.9")
    assert found.origin.startswith("PATH, program ")
    return found


def test_what_it_cannot_run_is_refused(
    pretended: PreparedArm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert reason(pretended, "compute") == "it is not implemented for bun"
    assert reason(pretended, "echo") is None
    assert reason(pretended, "echo", api="streams") == (
        "api=streams: other runtimes have no APIs of asyncio"
    )
    assert "not Python" in (reason(pretended, loop="asyncio") or "")
    assert "in one process" in (reason(pretended, model="processes") or "")
    assert reason(pretended, factory="eager") is None
    made = '[ "$1" = build ] && echo > "$6"'
    script(tmp_path / "go", '[ "$1" = env ] && echo go9.99 && exit', made)
    monkeypatch.setenv("SCALING_CACHE", str(tmp_path / "cache"))
    go = prepared("go")
    assert (reason(go), [*go.arguments]) == (None, [])
    never = "factory=eager: a goroutine starts when the scheduler runs it, never at once"
    assert reason(go, factory="eager") == never
