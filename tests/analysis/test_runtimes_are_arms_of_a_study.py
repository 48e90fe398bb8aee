"""A runtime other than Python is an arm like any other: planned, judged and reported."""

from dataclasses import replace

import pytest

from scaling.analysis.build_differences import build_differences
from scaling.base.errors import UsageError
from scaling.builds.arms import parse_arm
from scaling.builds.cache import Say
from scaling.builds.prepared_arm import PreparedArm, prepare_runtime
from scaling.builds.runtimes import AbsentRuntimeError, Runtime
from scaling.journal.record import (
    ArmRecord,
    GilStates,
    ProcessFacts,
    ReadBack,
    RunLine,
)
from scaling.report.view.tables import builds
from scaling.run.prepare import ChildNeeds, Prepared, prepare_arms, services_of
from scaling.study.pins import group_for
from scaling.study.plan.cells import Plan
from tests.support.fake_builds import say_nothing
from tests.support.plans import TWO_CORES, asked, planned
from tests.support.runs import changing, with_
from tests.support.studies import FakeStudy, arm, runtime
from tests.workers.test_runtimes_run_the_same_program import LIKE

STUDY = """
arms = ["3.14t", "go", "bun"]
workers = [1, 2]
[[workloads]]
name = "spawn"
arms = ["3.14t"]
[[workloads]]
name = "spawn"
arms = ["go", "bun"]
loops = ["own"]
"""


@pytest.fixture(autouse=True)
def go_is_here_and_bun_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def find(runtime: Runtime, say: Say) -> tuple[str, tuple[str, ...], str]:
        if runtime.name != "go":
            raise AbsentRuntimeError(f"{runtime.name} is not on PATH")
        return "go9.99", ("/somewhere/spawn",), "abc"

    monkeypatch.setattr("scaling.builds.prepared_arm.find", find)


def arms() -> dict[str, PreparedArm]:
    python = PreparedArm(
        arm=parse_arm("3.14t"),
        program="python3.14t",
        environment={"PYTHONPATH": "workers"},
        description=LIKE,
        origin="PATH",
    )
    others = [prepare_runtime(parse_arm(name), LIKE, say_nothing) for name in ("go", "bun")]
    return {each.arm.name: each for each in (python, *others)}


def with_runtimes() -> Plan:
    descriptions = {name: arm.description for name, arm in arms().items()}
    return planned(STUDY, arms=descriptions, controls=True)


def test_it_is_planned_beside_pythons_and_what_is_absent_is_listed() -> None:
    """With the parameters of Python's; no control is asked of it."""
    made = with_runtimes()
    spawned = {(c.arm, c.loop, c.workers) for c in made.cells if c.workload == "spawn"}
    assert spawned == {
        (arm, loop, n) for arm, loop in (("3.14t", "asyncio"), ("go", "own")) for n in (1, 2)
    }
    (refused,) = {(each.arms, each.reason) for each in made.refused}
    assert refused == (("bun",), "bun is not on PATH")
    assert len({c.parameters for c in made.cells if c.workload == "spawn"}) == 1
    assert {c.arm for c in made.cells if c.workload != "spawn"} == {"3.14t"}
    assert group_for(asked(STUDY)) == "child"  # its loop is in no package index


def test_the_journal_lists_what_is_there_and_helpers_run_on_a_python() -> None:
    several = dict(reversed(arms().items()))
    prepared = Prepared(with_runtimes(), several, TWO_CORES, "", "")
    listed = prepared.first_line().arms
    assert sorted(listed) == ["3.14t", "go"]
    assert listed["go"] == ArmRecord(
        build="go",
        origin="PATH, program abc",
        runtime="go9.99",
        expected=ReadBack(loop_class="goroutines"),
    )
    assert listed["3.14t"].runtime is None
    assert services_of(prepared)._python == "python3.14t"


def test_it_is_compared_with_a_python() -> None:
    with pytest.raises(UsageError, match="go: add a CPython arm as the baseline"):
        prepare_arms(["go"], ChildNeeds(), "workers", [], say_nothing)


def without_python(run: RunLine) -> RunLine:
    """A run as a runtime without GIL and pymalloc reports it."""
    return with_(run, record__process=ProcessFacts()) if run.cell.arm == "go" else run


MEASURED = FakeStudy(
    variants={"spawn": [{}]},
    arms=("3.14t", "go"),
    workers=(1, 2),
    change=without_python,
    head={"arms": {"3.14t": arm("3.14t"), "go": runtime("go", "go9.99")}},
)


def test_its_runs_are_believed_unless_a_python_says_that_they_are_its_own() -> None:
    frame = MEASURED.frame
    assert set(frame["arm"]) == {"3.14t", "go"}
    assert frame["reasons"].map(len).max() == 0
    assert frame.loc[frame["arm"] == "go", "gil_enabled"].isna().all()
    facts = ProcessFacts(gil=GilStates(started=False), allocator="mimalloc", gc_enabled=True)
    frame = replace(MEASURED, change=changing(record__process=facts)).frame
    assert set(frame[frame["arm"] == "go"]["reasons"]) == {("settings-lost",)}


def test_its_version_is_among_the_builds_and_no_warning() -> None:
    facts = builds(MEASURED.study).set_index(["arm", "fact"])["value"]
    assert facts["go", "version"] == "go9.99"
    assert not build_differences(MEASURED.first_line)
    assert "go" not in MEASURED.study.soundness.text.split()
