"""A finite run ends when its work is done: no plan says when, and a limit says by when at most."""

import json
from typing import Any

import pytest

import scaling.run.execute as execute
from scaling.journal.record import WorkloadFacts, decode_line, encode_line
from scaling.run.child import Ending, Run
from scaling.run.prepare import Prepared
from scaling.study.plan.cells import Plan
from scaling.study.plan.table import cost_of, plan_rows, reservations
from tests.support.descriptions import ECHO, NAP
from tests.support.driving import executor, prepared
from tests.support.plans import ECHO_FILE, TWO_CORES, planned

FINITE = "blocks = 3\nworkers = [1, 2]\n[[workloads]]\nname = 'nap'\n"
MIXED = f"{FINITE}{ECHO_FILE}"


def naps(text: str = FINITE, facts: WorkloadFacts = NAP, **options: Any) -> Plan:
    return planned(text, workloads={"nap": facts}, **options)


def test_its_time_is_not_known_beforehand() -> None:
    plan = naps(MIXED)
    cost = cost_of(plan)
    assert [time for *_, time in plan_rows(plan)] == ["finite", "11 s"]  # 6 runs of 1.8 s
    assert (cost.runs, cost.finite) == (18, 9)  # two cells, each an A/A pair
    assert cost.total_s == pytest.approx(9 * 1.8)


def test_a_large_one_is_warned_of_and_a_quick_look_offered() -> None:
    (warning,) = reservations(naps())
    assert warning == (
        "1,000,000 per worker can take hours in total; for a quick look: --scale 0.01"
    )
    assert list(reservations(naps(set=("nap.naps=999999",)))) == []
    assert list(reservations(naps(scale="1%"))) == ["scaled to 1 %"]


# --- how long it may take -----------------------------------------------------------------------


def limits_of(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> dict[str, float | None]:
    """The limit that each workload's child is run with."""
    limits: dict[str, float | None] = {}

    def do(run: Run) -> Ending:
        limits[run.cell["workload"]] = run.limit_s
        return Ending("crashed", 0.1)

    monkeypatch.setattr(execute, "run_child", do)
    make = executor(prepared(plan))
    for each in plan.runs:
        make(each)
    return limits


def test_it_has_an_hour_if_nothing_else_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert limits_of(naps(MIXED), monkeypatch) == {
        NAP.path: 3600.0,
        ECHO.path: None,  # its window and ample time more
    }
    short = f"limit_s = 60\n{FINITE}"
    assert limits_of(naps(short), monkeypatch) == {NAP.path: 60.0}
    assert limits_of(naps(short, limit=90.0), monkeypatch) == {NAP.path: 90.0}


# --- what the journal keeps ---------------------------------------------------------------------


def test_the_study_line_records_which_workloads_are_finite() -> None:
    plan = naps(MIXED)
    line = Prepared(plan, {}, TWO_CORES, "", "").first_line()
    assert {name: note.finite for name, note in line.workloads.items()} == {
        "nap": True,
        "echo": False,
    }
    fields = json.loads(encode_line(line))
    for note in fields["workloads"].values():
        del note["finite"]  # as it was before there were any
    old = decode_line(json.dumps(fields))
    assert [note.finite for note in old.workloads.values()] == [False, False]  # type: ignore[union-attr]
