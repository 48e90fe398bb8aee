"""Connections that do not divide among workers or servers are said where the figures are."""

from types import SimpleNamespace
from typing import Any, cast

import pandas as pd
from msgspec.structs import replace

from scaling.analysis.tables.study import Study
from scaling.journal.record import Cell, WorkloadFacts
from scaling.report.view.notes import uneven
from scaling.study.plan.refusals import uneven_shares
from scaling.study.plan.table import plan_rows
from tests.support.plans import ECHO_FILE, planned
from workers.services.load.summary import dealt

CELL = Cell(
    workload="echo", loop="asyncio", arm="3.14t", model="threads", sizing="strong", workers=1
)


def test_the_shares_of_workers_and_of_servers() -> None:
    facts = WorkloadFacts(path="workers.workloads.echo:Echo", in_flight="connections")
    for total, workers, said in (
        (3, 2, "2 or 1 connections"),
        (49, 8, "7 or 6 connections"),
        (48, 8, ""),
        (1, 1, ""),
        (None, 4, ""),
    ):
        assert uneven_shares(facts, replace(CELL, workers=workers), total) == said
    # The load generator says it of servers.
    assert dealt(49, 8) == "49 connections: 7 or 6 to each of 8 servers"
    assert dealt(64, 8) == dealt(5, 1) == dealt(5, 0) == ""


def test_the_row_of_a_plan_says_so() -> None:
    made = planned(ECHO_FILE, workers=("1,2,3",), sizing=("weak,strong",), arm=("3.14t",),
                   set=("echo.connections=1",))  # fmt: skip
    counts = {(row[0], row[4]): row[5] for row in plan_rows(made)}
    assert set(counts.values()) == {"1, 2, 3", "1, 2 (2 or 1 connections each), 3"}
    assert all((sizing == "strong") is ("or" in text) for (_, sizing), text in counts.items())


def test_a_note_of_the_results_says_so() -> None:
    def note(each: int, *workers: int) -> str:
        facts = WorkloadFacts(path="", in_flight="connections")
        cells = [
            replace(CELL, workers=count, parameters={"connections": each}, sizing=sizing)
            for count in workers
            for sizing in ("strong", "weak")
        ]
        entry: dict[str, Any] = {"name": "echo", "workers": list(workers)}
        line = SimpleNamespace(study={"workloads": [entry]}, workloads={"echo": facts})
        return uneven(cast(Study, SimpleNamespace(line=line, cells=pd.DataFrame({"cell": cells}))))

    assert note(1, 1, 2, 4) == ""
    assert note(1, 1, 2, 3) == (
        "Work is divided unevenly: 2 or 1 connections each at N = 2 (echo)."
    )
    assert note(7, 2, 3, 4, 7).count(" each at N = ") == 3
