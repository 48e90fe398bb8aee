"""A figure of threads is over the processes that are best at it, memory over that of its kind."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from scaling.analysis.table.run_fields import KERNELS_PSS
from scaling.journal.record import RunLine
from scaling.study.questions import CPU, MEMORY, OVER_PROCESSES, THROUGHPUT
from tests.support.runs import throttled, with_
from tests.support.studies import FakeStudy, one, where

ARMS = ("3.14", "3.14+mimalloc", "3.14t")
BOTH = ("threads", "processes")
type Speeds = Mapping[tuple[str, str, int], float]

SPEEDS: Speeds = {
    ("3.14", "processes", 1): 1.0,
    ("3.14+mimalloc", "processes", 1): 0.8,
    ("3.14", "processes", 2): 1.5,
    ("3.14+mimalloc", "processes", 2): 1.6,
    ("3.14", "threads", 1): 1.05,
    ("3.14+mimalloc", "threads", 1): 0.7,
    ("3.14t", "threads", 1): 0.9,
    ("3.14t", "threads", 2): 1.76,
}


def exact(speeds: Speeds = SPEEDS, **others: object) -> FakeStudy:
    made = {"arms": ARMS, "models": BOTH, "workers": (1, 2), "noise": 0, "tick_noise": 0}
    return FakeStudy(**(made | {"speeds": speeds} | others))  # type: ignore[arg-type]


EXACT = exact()


def over_processes(study: FakeStudy, measure: str, **values: object) -> pd.DataFrame:
    asked = {"question": OVER_PROCESSES, "measure": measure, "model": "threads"}
    return where(study.study.ratios, **(asked | values))


def over(row: dict[Any, Any]) -> tuple[str, str, int]:
    return row["over_arm"], row["over_model"], row["over_workers"]


def test_the_better_processes_are_taken_at_each_n() -> None:
    first, second = over_processes(EXACT, THROUGHPUT).to_dict("records")
    assert over(first) == ("3.14", "processes", 1)
    assert over(second) == ("3.14+mimalloc", "processes", 2)
    assert (first["candidates"], second["candidates"]) == (2, 2)
    assert first["ratio"] == pytest.approx(0.9, rel=1e-3)
    assert second["ratio"] == pytest.approx(1.76 / 1.6, rel=1e-3)
    # the same CPU time in every run: CPU per operation is the other way round
    cpu = one(over_processes(EXACT, CPU), workers=2)
    assert over(cpu) == over(second)
    assert cpu["ratio"] == pytest.approx(1.6 / 1.76, rel=2e-3)

    def invalid(run: RunLine) -> RunLine:
        is_better = (run.cell.arm, run.cell.model) == ("3.14+mimalloc", "processes")
        return throttled(run) if is_better else run

    found = one(over_processes(replace(EXACT, change=invalid), THROUGHPUT), workers=2)
    assert (over(found), found["candidates"]) == (("3.14", "processes", 2), 1)
    made = FakeStudy(arms=("3.14t",), models=BOTH, workers=(1, 2))  # an arm is its own baseline
    assert over(one(over_processes(made, THROUGHPUT), workers=1)) == ("3.14t", "processes", 1)


@pytest.mark.parametrize("blank", ["threads", "processes"])
def test_memory_is_of_one_kind_on_both_sides(blank: str) -> None:
    """PSS is 0.9 of RSS in what is fabricated: PSS over RSS would show. The kernel's PSS of old
    journals divides a page by all programs of the machine that map it.
    """

    def change(run: RunLine) -> RunLine:
        return with_(run, memory__pss_bytes=None) if run.cell.model == blank else run

    studies = EXACT, replace(EXACT, change=change), exact(head={"scaling": KERNELS_PSS})
    pss, rss, old = (one(over_processes(study, MEMORY), workers=2) for study in studies)
    assert (pss["memory_kind"], rss["memory_kind"], old["memory_kind"]) == ("PSS", "RSS", "RSS")
    assert rss["ratio"] == pytest.approx(pss["ratio"], rel=1e-3)
