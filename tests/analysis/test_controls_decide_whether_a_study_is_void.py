"""A study whose controls fail is called void at the top of everything that it shows."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from scaling.analysis.tables.controls import Soundness
from scaling.analysis.tables.study import Study
from scaling.journal.record import ParameterFacts, RunLine, WorkerRecord
from scaling.machine.topology import Topology
from scaling.report.csv import comparison, summary
from scaling.report.output import show
from scaling.report.view.notes import NOTES, warnings
from scaling.report.view.notes import controls as controls_note
from scaling.study.controls import CONTROL_WINDOW_S, CONTROLS
from scaling.study.definition import Options
from scaling.study.file import study_from
from scaling.study.plan.cells import Plan, make_plan
from scaling.study.plan.table import controls_line, plan_view
from tests.support.descriptions import WORKLOADS, description
from tests.support.documents import tables_markdown
from tests.support.plans import flagged
from tests.support.printing import printed, printed_by
from tests.support.runs import Change, of_workers, with_
from tests.support.studies import FakeStudy, Variants

VARIANTS: Variants = {
    "compute": [{"iterations": 1000}],
    "shared": [{"sharing": "attribute-write", "iterations": 1000}],
}

type Speedups = dict[tuple[str, str, int], float]  # workload, arm, N

GOOD: Speedups = {
    ("compute", "3.14t", 2): 1.96,
    ("compute", "3.14t", 4): 3.9,
    ("compute", "3.14", 2): 0.99,
    ("shared", "3.14t", 2): 0.3,
    ("shared", "3.14", 2): 1.0,
}


def scaled(speedups: Speedups) -> Change:
    """Makes each control as fast as its speed-up over N = 1 says; 1 % apart between blocks."""

    def change(run: RunLine) -> RunLine:
        cell = run.cell
        if cell.workload not in CONTROLS:
            return run
        speedup = speedups.get((cell.workload, cell.arm, cell.workers), 1.0)
        rate = 1e4 * speedup / cell.workers * (1 + 0.01 * run.block * (cell.workers > 1))

        def steady(worker: WorkerRecord) -> WorkerRecord:
            times = worker.ticks.time_ns
            done = [round(rate * (now - times[0]) / 1e9) for now in times]
            return with_(worker, ticks__operations=done)

        return of_workers(run, steady)

    return change


TWO_ARMS = FakeStudy(variants=VARIANTS, arms=("3.14", "3.14t"), cores=4, logical=4, ticks=4)
ONE_ARM = replace(TWO_ARMS, arms=("3.14t",), workers=(1, 2))


def judged(speedups: Speedups, study: FakeStudy = TWO_ARMS, **options: object) -> Soundness:
    return replace(study, change=scaled(speedups), options=options).study.soundness


def test_a_study_whose_controls_behave_is_sound_and_nothing_is_said() -> None:
    found = judged(GOOD)
    assert (found.status, found.reasons, found.text) == ("sound", (), "")
    assert judged({}, FakeStudy()).text == "Controls missing: compute on 3.14t; shared on 3.14t"
    assert judged({}, FakeStudy(), controls=False).text.startswith("Controls left out")
    with_gil = replace(ONE_ARM, arms=("3.14t+gil",))  # which must not scale
    assert judged({}, with_gil).status == "sound"
    assert judged({("compute", "3.14t+gil", 2): 1.9}, with_gil).status == "void"


@pytest.mark.parametrize(
    ("workload", "arm", "n", "speedup", "told"),
    [
        ("compute", "3.14t", 2, 1.3, "expected at least 1.6"),
        ("compute", "3.14t", 4, 2.0, "expected at least 2.8"),
        ("compute", "3.14", 2, 1.3, "expected at most 1.15"),
        ("shared", "3.14t", 2, 1.4, "expected at most 1.1"),
    ],
)
def test_a_control_that_fails_makes_the_study_void_and_is_named(
    workload: str, arm: str, n: int, speedup: float, told: str
) -> None:
    found = judged(GOOD | {(workload, arm, n): speedup})
    assert found.status == "void"
    (reason,) = found.reasons
    assert reason.startswith(f"{workload} on {arm} at N = {n}: {speedup:.1f}"[:-1])
    assert reason.endswith(told)


@pytest.mark.parametrize(
    ("workload", "arm", "speedup"), [("compute", "3.14t", 1.595), ("shared", "3.14t", 1.085)]
)
def test_a_control_fails_only_when_its_whole_range_is_outside(
    workload: str, arm: str, speedup: float
) -> None:
    """Its blocks lie at 1, 1.01 and 1.02 of this: one on the wrong side of the limit."""
    assert judged(GOOD | {(workload, arm, 2): speedup}).status == "sound"


def test_a_median_far_outside_with_one_run_inside_is_undecided_as_one_run_is() -> None:
    inside, outside = scaled(GOOD), scaled(GOOD | {("shared", "3.14t", 2): 1.9})
    study = replace(TWO_ARMS, change=lambda run: (outside if run.block else inside)(run)).study
    assert study.soundness.status == "undecided"
    (reason,) = study.soundness.reasons
    assert reason.startswith("shared on 3.14t at N = 2: 1.9")
    assert controls_note(study).startswith("Controls undecided")
    once = replace(ONE_ARM, blocks=1)
    assert judged(GOOD, once).status == "sound"
    assert judged(GOOD | {("compute", "3.14t", 2): 1.2}, once).status == "undecided"


def test_what_cannot_prove_anything_is_no_control() -> None:
    """Workers without a core each, cores that are slower, another rung of `shared`."""
    slow = GOOD | {("compute", "3.14t", 4): 1.9}
    two_cores = FakeStudy(variants=VARIANTS, ticks=4)
    assert judged(slow, two_cores).status == "sound"
    found = judged(slow, replace(two_cores, cores=1, logical=1))
    assert (found.status, found.reasons) == ("missing", ("compute on 3.14t",))
    slow = GOOD | {("compute", "3.14t", 4): 2.2}
    assert judged(slow).status == "void"
    assert judged(slow, replace(TWO_ARMS, head={"machine__efficiency_cpus": 2})).status == "sound"
    rungs: Variants = {"compute": [{"iterations": 1}], "shared": [{"sharing": "value"}]}
    found = judged(GOOD | {("shared", "3.14t", 2): 1.9}, replace(ONE_ARM, variants=rungs))
    assert (found.status, found.reasons) == ("missing", ("shared on 3.14t",))


def test_a_study_that_names_its_own_controls_says_on_which_arms() -> None:
    study = replace(ONE_ARM, arms=("3.14t", "3.14t+nogc"), change=scaled(GOOD))
    kept = study.frame[study.frame["arm"] == "3.14t"].reset_index(drop=True)
    told = replace(study, options={"controls": False}).first_line
    found = Study(told, kept).soundness
    assert found.text == "Controls were run on 3.14t only, and hold there"
    assert Study(study.first_line, kept).soundness.status == "missing"
    crashed = kept.assign(valid=kept["valid"] & (kept["workload"] != "shared"))
    assert Study(told, crashed).soundness.status == "missing"


def test_void_stands_at_the_top_of_every_output(tmp_path: Path) -> None:
    made = replace(TWO_ARMS, change=scaled(GOOD | {("compute", "3.14t", 2): 1.3}))
    study = made.study
    assert [each.note for each in NOTES[:2]] == [warnings, controls_note]
    assert controls_note(study).startswith("VOID: ")
    assert set(summary(study)["controls"]) == set(comparison(study)["controls"]) == {"void"}
    written = tables_markdown(study)
    assert written.index("VOID") < written.index("|")
    shown = printed_by(lambda console: show(made.write(tmp_path), console, details=False))
    assert shown.count("VOID") == 1


def planned(options: Options, topology: Topology | None = None) -> Plan:
    shared = msgspec.structs.replace(
        WORKLOADS["compute"],
        parameters={
            "sharing": ParameterFacts(type="str", default="attribute-write"),
            **WORKLOADS["compute"].parameters,
        },
    )
    study = study_from(options, running_build="3.14t")
    arms = dict.fromkeys(study.arms, description(workloads=WORKLOADS | {"shared": shared}))
    return make_plan(study, arms, topology or Topology(logical_cpus=2, physical_cores=2))


def controls(plan: Plan) -> list[tuple[str, str, str, str, int]]:
    return [
        (cell.workload, cell.arm, cell.loop, cell.model, cell.workers)
        for cell in plan.cells[plan.asked :]
    ]


def test_a_study_without_controls_gets_them_on_every_arm() -> None:
    asked = flagged(
        workload=("echo",), loop=("uvloop",), arm=("3.14,3.14t",), workers=("4",), seconds=6.0
    )
    plan = planned(asked)
    assert {plan.window_s(cell) for cell in plan.cells[plan.asked :]} == {CONTROL_WINDOW_S}
    assert {plan.window_s(cell) for cell in plan.cells[: plan.asked]} == {6.0}
    assert plan.asked == 4  # threads and processes
    assert controls(plan) == [
        (workload, arm, "asyncio", "threads", n)
        for workload in ("compute", "shared")
        for arm in ("3.14", "3.14t")
        for n in (1, 2)
    ]
    assert plan.cells[-1].parameters["sharing"] == "attribute-write"
    assert "8 cells of these are controls (compute, shared)" in controls_line(plan)
    assert "--no-controls" in printed(plan_view(plan), width=100)


def test_controls_that_a_study_has_are_not_run_twice_unless_they_prove_nothing() -> None:
    plan = planned(flagged(workload=("compute,shared,echo",), workers=("1,2,4",)))
    assert controls(plan) == []
    assert controls_line(plan) == "the study has its own controls, on 3.14t"
    for lacking in (
        flagged(workload=("compute,shared",), workers=("1,4",)),
        flagged(workload=("compute,shared",), workers=("1,2",), model=("processes",)),
        flagged(workload=("shared",), workers=("1,2",), set=("shared.sharing=value",)),
    ):
        assert ("shared", "3.14t", "asyncio", "threads", 2) in controls(planned(lacking))
    assert controls(planned(flagged(workload=("echo",), controls=False))) == []
    small = planned(flagged(workload=("echo",)), Topology(logical_cpus=1, physical_cores=1))
    assert controls(small) == []
