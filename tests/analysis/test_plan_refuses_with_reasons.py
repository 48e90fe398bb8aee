"""What cannot be run is in the plan with its reason, and everything else is in it as cells."""

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion

from scaling.base.errors import UsageError
from scaling.base.formats import duration
from scaling.journal.record import ParameterValue, Refusal, Uneven, WorkloadFacts
from scaling.study.plan.cells import EXPECTED_OVERHEAD_S, Plan
from scaling.study.plan.table import cost_of, plan_rows
from tests.support.descriptions import ECHO, WORKLOADS, description
from tests.support.plans import ECHO_FILE, planned, refusals

BOTH = ("3.13t", "3.14t")
ECHO_EVERYWHERE = """
loops = ["asyncio", "uvloop"]
models = ["threads", "interpreters"]
workers = [1, 2]
[[workloads]]
name = "echo"
"""


def told(plan: Plan) -> dict[str, list[str]]:
    """What is refused, with the reason, and the cells."""
    refused = [f"{' '.join(key)}: {reason}" for key, reason in refusals(plan).items()]
    cells = [
        f"{each.arm} {each.model} {each.loop} {each.workers} {each.sizing} "
        f"{each.parameters['connections']} {each.parameters['api']}"
        for each in plan.cells
    ]
    return {"refused": refused, "cells": cells}


def test_a_workload_refuses_one_model_on_one_loop_and_keeps_the_rest(
    snapshot: SnapshotAssertion,
) -> None:
    assert told(planned(ECHO_EVERYWHERE)) == snapshot


def test_one_value_of_a_parameter_is_refused_and_the_others_run(
    snapshot: SnapshotAssertion,
) -> None:
    """For a model, and for strong sizing where work in flight cannot be dealt out evenly."""
    of_api: dict[str, ParameterValue] = {"api": "streams"}
    refusal = Refusal(model="interpreters", loop="asyncio", reason="no module", parameters=of_api)
    uneven = Uneven(reason="one worker keeps it", parameters=of_api)
    picky = msgspec.structs.replace(ECHO, uneven=[uneven], refusals=[refusal])
    made = planned(
        "sizing = ['weak', 'strong']\nmodels = ['threads', 'interpreters']\nworkers = [2]\n"
        "[[workloads]]\nname = 'echo'\nparameters = { api = ['protocol', 'streams'] }",
        workloads={"echo": picky},
    )
    assert told(made) == snapshot


def test_what_is_missing_in_one_arm_is_refused_there_alone(snapshot: SnapshotAssertion) -> None:
    """A loop, a model, or a workload whose import fails."""
    older = description(
        refused_loops={"uvloop": "no wheel for 3.13t"},
        refused_models={"interpreters": "needs Python 3.14"},
    )
    broken = WorkloadFacts(path=ECHO.path, refused="ModuleNotFoundError: No module named 'x'")
    lacking = description(workloads=WORKLOADS | {"echo": broken})
    for text, lacks in ((ECHO_EVERYWHERE, older), (ECHO_FILE, lacking)):
        arms = {"3.13t": lacks, "3.14t": description()}
        assert told(planned(text, arms=arms, arm=BOTH, workers=("2",))) == snapshot


def test_a_plan_of_refusals_only_cannot_be_run_and_says_why() -> None:
    """Of many reasons two are named and the others counted."""
    names = ("compute", "scrape", "echo")
    entries = "".join(f"[[workloads]]\nname = '{name}'\n" for name in names)
    made = planned(f"sizing = ['strong']\nmodels = ['interpreters']\nloops = ['uvloop']\n{entries}")
    assert made.cells == ()
    words = r"run here: compute: .*no parameter for it.*scrape: .*; 1 more \(`scaling plan` prints"
    with pytest.raises(UsageError, match=words):
        made.require_cells()
    planned(ECHO_EVERYWHERE).require_cells()


def test_the_table_adds_up_and_lists_the_refusals_once_per_arm() -> None:
    made = planned(
        "preset = 'smoke'\nmodels = ['interpreters']\nloops = ['asyncio', 'uvloop']\n"
        "[[workloads]]\nname = 'echo'\nparameters = { payload_bytes = [1024, 256] }",
        arm=("3.14", "3.14t"),
    )
    cost, run_s = cost_of(made), EXPECTED_OVERHEAD_S + 0.3 + 0.4
    assert list(plan_rows(made)) == [
        [label, arm, "asyncio", "interpreters", "weak", "1, 2, 4", "24", duration(24 * run_s)]
        for arm in ("3.14", "3.14t")
        for label in ("echo", "echo (payload_bytes=256)")
    ]
    assert len(made.cells) == 12
    assert cost.runs == len(made.runs) == 4 * 24 + 8
    assert cost.total_s == pytest.approx(104 * run_s)
    assert cost.in_windows == pytest.approx(0.4 / run_s)
    assert [(row.arms, row.loop) for row in made.refused] == [(("3.14", "3.14t"), "uvloop")]
