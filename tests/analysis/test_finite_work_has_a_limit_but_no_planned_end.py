"""A finite run ends when its work is done: no plan says when, and a limit says by when at most."""

import io
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

import scaling.run.execute as execute
from scaling.analysis.table.load import load
from scaling.builds.arms import parse_arm
from scaling.builds.prepared_arm import PreparedArm
from scaling.builds.settings.interpreter import NOT_IN_CPYTHON
from scaling.journal.record import (
    Machine,
    ParameterFacts,
    WorkloadFacts,
    decode_line,
    encode_line,
)
from scaling.machine.topology import Topology
from scaling.run.child import Child, Ending
from scaling.run.execute import Executor
from scaling.run.measure import head
from scaling.run.services import Services
from scaling.study.combine import study_from
from scaling.study.file import read_study
from scaling.study.options import Options
from scaling.study.plan.cells import Plan, make_plan
from scaling.study.plan.table import PlanView, one_line, plan_table, reservations
from tests.analysis.test_scaled_down_studies_are_labelled import NAP
from tests.support.cli import BUILD, Command
from tests.support.descriptions import WORKLOADS, description
from tests.support.of_the_machine import require_none_is_ours

FINITE = "controls = false\nblocks = 3\nworkers = [1, 2]\n[[workloads]]\nname = 'nap'\n"
NAPS = {"nap": NAP}
MIXED = f"{FINITE}[[workloads]]\nname = 'echo'\n"


def planned(text: str, workloads: Mapping[str, WorkloadFacts] = NAPS, **options: Any) -> Plan:
    study = study_from(
        Options(**options), running_build="3.14t", load_file=lambda name: read_study(text, name)
    )
    described = description(workloads={**WORKLOADS, **workloads})
    topology = Topology(logical_cpus=2, physical_cores=2)
    return make_plan(study, dict.fromkeys(study.arms, described), topology)


def test_its_time_is_not_known_beforehand() -> None:
    table = plan_table(planned(MIXED))
    assert [row.seconds for row in table.rows] == [None, pytest.approx(6 * 1.8)]
    assert (table.runs, table.finite) == (18, 9)  # two cells, each an A/A pair
    assert table.total_s == pytest.approx(9 * 1.8)


def test_the_plan_says_so() -> None:
    known = "finite: their time is known after the first block"
    assert one_line(planned(FINITE)).endswith(f"= 9 runs, {known}")
    assert one_line(planned(MIXED)).endswith(f"= 18 runs: 9 of 1.8 s, about 16 s; 9 {known}")
    assert "finite" not in one_line(planned("[[workloads]]\nname = 'echo'"))
    printed = io.StringIO()
    Console(file=printed, width=120).print(PlanView(planned(MIXED)))
    assert "in windows" not in printed.getvalue()


def test_a_large_one_is_warned_of_and_a_quick_look_offered() -> None:
    (warning,) = reservations(planned(FINITE))
    assert warning == (
        "1,000,000 per worker can take hours in total; for a quick look: --scale 0.01"
    )
    assert list(reservations(planned(FINITE, set=("nap.naps=999999",)))) == []
    assert list(reservations(planned(FINITE, scale="1%"))) == ["scaled to 1 %"]


def test_what_belongs_together_is_done_in_full_and_the_plan_says_so() -> None:
    text = FINITE + "parameters.bed = [10, 5_000]\n"
    beds = {**NAP.parameters, "bed": ParameterFacts(type="int", default=10, at_least=1)}
    facts = msgspec.structs.replace(NAP, whole="bed", parameters=beds)
    small = planned(text, workloads={"nap": facts}, scale="0.1%")
    assert list(reservations(small)) == [
        "scaled to 0.1 %",
        "nap: bed=5,000 is more than the 1,000 asked for; one whole bed is done",
    ]
    assert list(reservations(planned(text, workloads={"nap": facts}, scale="1%"))) == [
        "scaled to 1 %"
    ]


def test_switches_that_change_nothing_are_listed_before_anything_is_run() -> None:
    made = planned(FINITE, arm=("3.14t", "3.14t+io-uring"), scale="1%")
    assert list(reservations(made)) == ["scaled to 1 %", f"+io-uring: {NOT_IN_CPYTHON}."]


# --- how long it may take -----------------------------------------------------------------------


def limits_of(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> dict[str, float | None]:
    """The limit that each workload's child is run with."""
    limits: dict[str, float | None] = {}

    def run(child: Child, cell: Mapping[str, Any], *, limit_s: float | None, **_: Any) -> Ending:
        limits[cell["workload"]] = limit_s
        return Ending("crashed", 0.1)

    monkeypatch.setattr(execute, "run_child", run)
    arm = PreparedArm(parse_arm("3.14t"), sys.executable, {}, description(), "PATH", {})
    with Services(sys.executable, {}) as services:
        executor = Executor(plan, {"3.14t": arm}, services)
        for each in plan.runs:
            executor(each, 1)
    return limits


def test_it_has_an_hour_if_nothing_else_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert limits_of(planned(MIXED), monkeypatch) == {
        NAP.path: 3600.0,
        WORKLOADS["echo"].path: None,  # its window and ample time more
    }
    short = f"limit_s = 60\n{FINITE}"
    assert limits_of(planned(short), monkeypatch) == {NAP.path: 60.0}
    assert limits_of(planned(short, limit=90.0), monkeypatch) == {NAP.path: 90.0}


# --- what the journal keeps ---------------------------------------------------------------------


def test_the_study_line_records_which_workloads_are_finite() -> None:
    plan = planned(MIXED)
    line = head(plan, {}, Machine(id="0"), pins="", workers_source="")
    assert {name: note.finite for name, note in line.workloads.items()} == {
        "nap": True,
        "echo": False,
    }
    fields = json.loads(encode_line(line))
    for note in fields["workloads"].values():
        del note["finite"]  # as it was before there were any
    old = decode_line(json.dumps(fields))
    assert [note.finite for note in old.workloads.values()] == [False, False]  # type: ignore[union-attr]


# --- all of it ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_a_finite_study_is_measured_from_end_to_end(tmp_path: Path, command: Command) -> None:
    (tmp_path / "mine.py").write_text(
        "import asyncio\n"
        "from dataclasses import dataclass\n"
        "from workers import Worker, Workload, parameter\n"
        "@dataclass\n"
        "class Naps(Workload):\n"
        '    """Naps, so many of them."""\n'
        '    operation = "naps"\n'
        "    finite = True\n"
        '    scaled = ("naps",)\n'
        '    naps: int = parameter(1_000_000, "how many", at_least=1)\n'
        "    async def run(self, worker: Worker) -> None:\n"
        "        for _ in range(self.naps):\n"
        "            await asyncio.sleep(0)\n"
        "            worker.operations += 1\n"
    )
    done = command(
        *("run", "--arm", BUILD, "--workload", "mine:Naps", "--path", ".", "--workers", "1,2"),
        *("--loop", "asyncio", "--no-controls", "--blocks", "2", "--scale", "0.1%"),
        *("--output", "out"),
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].endswith("= 6 runs, finite: their time is known after the first block")
    assert lines[1] == "scaled to 0.1 %"
    first, last = (line for line in lines if line.startswith("["))
    assert "] block 1 of 2 done · " in first
    assert " s left" in first
    assert "] runs measured, " in last
    assert "scaled to 0.1 %" in (tmp_path / "out" / "tables.md").read_text()
    frame = load(tmp_path / "out")
    assert frame["finite"].all()
    assert frame["twin"][frame["attempt"] == 1].sum() == 2
    assert (frame["operations"] == 1_000 * frame["workers"]).all()
    require_none_is_ours(frame)
