"""What cannot be run is in the plan with its reason, and everything else is in it as cells."""

import msgspec
import pytest

from scaling.base.errors import UsageError
from scaling.base.formats import duration
from scaling.journal.record import ParameterValue, Refusal, Uneven, WorkloadFacts
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


def test_one_value_of_a_parameter_is_refused_and_the_others_run() -> None:
    """For a model, and for strong sizing where work in flight cannot be dealt out evenly."""
    of_api: dict[str, ParameterValue] = {"api": "streams"}
    picky = msgspec.structs.replace(
        ECHO,
        uneven=[Uneven(reason="one worker keeps it", parameters=of_api)],
        refusals=[
            Refusal(model="interpreters", loop="asyncio", reason="no module", parameters=of_api)
        ],
    )
    made = planned(
        "sizing = ['weak', 'strong']\nmodels = ['threads', 'interpreters']\nworkers = [2]\n"
        "[[workloads]]\nname = 'echo'\nparameters = { api = ['protocol', 'streams'] }",
        workloads={"echo": picky},
    )
    strong = "api=streams: strong sizing divides work in flight, and one worker keeps it"
    assert set(refusals(made).values()) == {"api=streams: no module", strong}
    assert [(cell.model, cell.sizing, cell.parameters["api"]) for cell in made.cells] == [
        ("threads", "weak", "protocol"),
        ("threads", "weak", "streams"),
        ("threads", "strong", "protocol"),
        ("interpreters", "weak", "protocol"),
        ("interpreters", "strong", "protocol"),
    ]


def test_what_is_missing_in_one_arm_is_refused_there_alone() -> None:
    """A loop, a model, or a workload whose import fails."""
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
    broken = WorkloadFacts(path=ECHO.path, refused="ModuleNotFoundError: No module named 'x'")
    lacking = description(workloads=WORKLOADS | {"echo": broken})
    text = "workers = [1]\n[[workloads]]\nname = 'echo'"
    made = planned(text, arms={"3.13t": lacking, "3.14t": description()}, arm=BOTH)
    assert list(refusals(made).values()) == ["ModuleNotFoundError: No module named 'x'"]
    assert [(cell.arm, cell.parameters["connections"]) for cell in made.cells] == [("3.14t", 8)]


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


def test_a_closed_loop_has_no_rate_to_overload() -> None:
    text = (
        "window_s = 60\n[[workloads]]\nname = 'gateway'\nparameters = {{ {}overload_factor = {} }}"
    )
    words = r"^gateway: overload_factor=4 needs an open loop, .*: set rate_per_s, or overload_f"
    for rate in ("", "rate_per_s = [0, 100], "):
        with pytest.raises(UsageError, match=words):
            planned(text.format(rate, 4), workloads={"gateway": GATEWAY})
        assert planned(text.format(rate, 0), workloads={"gateway": GATEWAY}).cells


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
