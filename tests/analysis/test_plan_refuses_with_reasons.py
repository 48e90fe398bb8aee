"""What cannot be run is in the plan with its reason, and everything else is in it as cells."""

import msgspec
import pytest

from scaling.base.errors import UsageError
from scaling.base.formats import duration
from scaling.journal.record import Refusal, Uneven, WorkloadFacts
from scaling.study.plan.cells import EXPECTED_OVERHEAD_S, Plan
from scaling.study.plan.table import cost_of, plan_rows
from tests.support.descriptions import ECHO, GATEWAY, WORKLOADS, description
from tests.support.plans import planned, refusals

BOTH = ("3.13t", "3.14t")
ECHO_EVERYWHERE = """
loops = ["asyncio", "uvloop"]
models = ["threads", "interpreters"]
workers = [1, 2]
[[workloads]]
name = "echo"
"""


def test_a_workload_refuses_one_model_on_one_loop_and_keeps_the_rest() -> None:
    made = planned(ECHO_EVERYWHERE)
    refused = ("echo", "uvloop", "3.14t", "interpreters", "weak")
    assert refusals(made) == {refused: "uvloop will not load there"}
    assert {(cell.model, cell.loop, cell.workers) for cell in made.cells} == {
        (model, loop, workers)
        for model, loop in (
            ("threads", "asyncio"),
            ("threads", "uvloop"),
            ("interpreters", "asyncio"),
        )
        for workers in (1, 2)
    }


def test_strong_sizing_is_refused_where_work_in_flight_cannot_be_dealt_out_evenly() -> None:
    uneven = Uneven(reason="one worker keeps it", parameters={"api": "streams"})
    picky = msgspec.structs.replace(ECHO, uneven=[uneven])
    made = planned(
        "sizing = ['weak', 'strong']\nworkers = [2]\n[[workloads]]\nname = 'echo'\n"
        "parameters = { api = ['protocol', 'streams'] }",
        workloads={"echo": picky},
    )
    assert refusals(made) == {
        ("echo", "asyncio", "3.14t", "threads", "strong"): (
            "api=streams: strong sizing divides work in flight, and one worker keeps it"
        )
    }
    assert [(cell.sizing, cell.parameters["api"]) for cell in made.cells] == [
        ("weak", "protocol"),
        ("weak", "streams"),
        ("strong", "protocol"),
    ]


def test_one_value_of_a_parameter_is_refused_and_the_others_run() -> None:
    refused = Refusal(
        model="interpreters", loop="asyncio", reason="no module", parameters={"api": "protocol"}
    )
    picky = msgspec.structs.replace(ECHO, refusals=[refused])
    made = planned(
        "models = ['threads', 'interpreters']\nworkers = [1]\n[[workloads]]\nname = 'echo'\n"
        "parameters = { api = ['protocol', 'streams'] }",
        workloads={"echo": picky},
    )
    assert list(refusals(made).values()) == ["api=protocol: no module"]
    assert [(cell.model, cell.parameters["api"]) for cell in made.cells] == [
        ("threads", "protocol"),
        ("threads", "streams"),
        ("interpreters", "streams"),
    ]


def test_a_loop_or_model_missing_in_one_arm_is_refused_there_alone() -> None:
    older = description(
        refused_loops={"uvloop": "no wheel for 3.13t"},
        refused_models={"interpreters": "needs Python 3.14"},
    )
    made = planned(ECHO_EVERYWHERE, arms={"3.13t": older, "3.14t": description()}, arm=BOTH)
    assert {key: reason for key, reason in refusals(made).items() if key[2] == "3.13t"} == {
        ("echo", "uvloop", "3.13t", "threads", "weak"): "no wheel for 3.13t",
        ("echo", "asyncio", "3.13t", "interpreters", "weak"): "needs Python 3.14",
        ("echo", "uvloop", "3.13t", "interpreters", "weak"): "needs Python 3.14",
    }
    assert {cell.arm for cell in made.cells} == {"3.13t", "3.14t"}


def test_a_workload_whose_import_fails_in_one_arm_is_refused_there_alone() -> None:
    broken = WorkloadFacts(path=ECHO.path, refused="ModuleNotFoundError: No module named 'x'")
    lacking = description(workloads=WORKLOADS | {"echo": broken})
    text = "workers = [1]\n[[workloads]]\nname = 'echo'"
    made = planned(text, arms={"3.13t": lacking, "3.14t": description()}, arm=BOTH)
    assert list(refusals(made).values()) == ["ModuleNotFoundError: No module named 'x'"]
    assert [(cell.arm, cell.parameters["connections"]) for cell in made.cells] == [("3.14t", 8)]


def test_strong_sizing_is_refused_where_there_is_no_work_in_flight_to_deal_out() -> None:
    text = "sizing = ['weak', 'strong']\nworkers = [1]\n" + "".join(
        f"[[workloads]]\nname = '{name}'\n" for name in ("compute", "echo")
    )
    made = planned(text)
    assert [(cell.workload, cell.sizing) for cell in made.cells] == [
        ("compute", "weak"),
        ("echo", "weak"),
        ("echo", "strong"),
    ]
    (refused,) = made.refused
    assert (refused.workload, refused.sizing) == ("compute", "strong")
    assert "no parameter for it" in refused.reason


def test_a_plan_of_refusals_only_cannot_be_run_and_says_why() -> None:
    made = planned("sizing = ['strong']\n[[workloads]]\nname = 'compute'")
    assert made.cells == ()
    with pytest.raises(UsageError, match=r"run here: compute: .*no parameter for it"):
        made.require_cells()
    planned(ECHO_EVERYWHERE).require_cells()


def test_of_many_reasons_two_are_named_and_the_others_counted() -> None:
    names = ("compute", "scrape", "echo")
    entries = "".join(f"[[workloads]]\nname = '{name}'\n" for name in names)
    made = planned(f"sizing = ['strong']\nmodels = ['interpreters']\nloops = ['uvloop']\n{entries}")
    with pytest.raises(UsageError) as caught:
        made.require_cells()
    assert "compute: " in str(caught.value)
    assert "scrape: " in str(caught.value)
    assert str(caught.value).endswith("; 1 more (`scaling plan` prints them)")


@pytest.mark.parametrize(
    ("asked", "needed"),
    [
        ('rate_per_s = "40%", overload_factor = 4.0', 16),
        ("rate_per_s = [50.0, 100.0], overload_factor = [0.0, 4.0], overload_s = 20.0", 26),
    ],
)
def test_an_overload_ends_within_the_window(asked: str, needed: int) -> None:
    def plan(window_s: float) -> Plan:
        text = f"window_s = {window_s}\nworkers = [1]\n[[workloads]]\nname = 'gateway'\n"
        return planned(f"{text}parameters = {{ {asked} }}", workloads={"gateway": GATEWAY})

    with pytest.raises(UsageError, match=rf"^gateway: its overload .* use --seconds {needed}, or"):
        plan(needed - 1)
    assert plan(needed).cells


@pytest.mark.parametrize("rate", ["", "rate_per_s = 0, ", "rate_per_s = [0, 100], "])
def test_a_closed_loop_has_no_rate_to_overload(rate: str) -> None:
    text = f"window_s = 60\n[[workloads]]\nname = 'gateway'\nparameters = {{ {rate}%s }}"
    words = r"^gateway: overload_factor=4 needs an open loop, .*: set rate_per_s, or overload_f"
    with pytest.raises(UsageError, match=words) as caught:
        planned(text % "overload_factor = 4", workloads={"gateway": GATEWAY})
    assert caught.value.exit_code == 2
    assert planned(text % "overload_factor = 0", workloads={"gateway": GATEWAY}).cells


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
