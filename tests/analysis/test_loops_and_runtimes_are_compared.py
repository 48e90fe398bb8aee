"""Another loop is over asyncio at the same arm, model and N; a runtime over the first Python."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from scaling.journal.record import ProcessFacts, RunLine
from scaling.report.csv import comparison
from scaling.report.view.tables import of_question
from scaling.study.questions import CPU, OVER_PROCESSES, THROUGHPUT
from tests.support.runs import LOOP_FACTORS, crashed, of_workers, with_, with_speed
from tests.support.studies import FakeStudy, one, runtime, where

FACTOR = LOOP_FACTORS["uvloop"]
ONE_ARM = FakeStudy(
    loops=("asyncio", "uvloop"), workers=(1, 2, 4), blocks=8, noise=0.002, aa_pairs=True
)
ARMS = FakeStudy(
    arms=("3.14", "3.14t"),
    models=("threads", "processes"),
    loops=("asyncio", "trio", "uvloop"),
    workers=(1, 2),
    blocks=8,
)
BASELINE = ["over_loop", "over_arm", "over_model", "over_workers"]
OF = ["loop", "arm", "model", "workers"]


def rates(study: FakeStudy, question: str) -> pd.DataFrame:
    return where(study.study.ratios, question=question, measure=THROUGHPUT)


def test_every_arm_model_and_n_is_compared_with_the_same_on_asyncio() -> None:
    found = rates(ARMS, "loop")
    assert (found[BASELINE[1:]].to_numpy() == found[OF[1:]].to_numpy()).all()
    assert set(found["over_loop"]) == {"asyncio"}
    assert found.groupby(OF, observed=True).size().to_dict() == {
        (loop, arm, model, n): 1
        for loop in ("trio", "uvloop")
        for arm in ARMS.arms
        for model in ARMS.models
        for n in ARMS.workers
    }
    expected = np.where(found["loop"] == "uvloop", FACTOR, 1.0)
    assert found["ratio"].to_numpy() == pytest.approx(expected, rel=0.03)
    rows = where(comparison(ARMS.study), question="loop")
    assert set(rows["measure"]) == {"throughput", CPU}
    assert set(rows["runs"]) == {8}


def test_ratios_are_taken_inside_blocks() -> None:
    """Blocks lost on one loop or the other, and runs of blocks that are a hundred times apart."""

    def change(run: RunLine) -> RunLine:
        if (run.cell.loop == "asyncio") == (run.block == 1) and run.block in (1, 4):
            return crashed(run)
        return with_speed(run, 10.0 ** (run.block % 3))

    found = one(rates(replace(ONE_ARM, change=change), "loop"), workers=2)
    assert found["n"] == 6
    assert found["ratio"] == pytest.approx(FACTOR, rel=0.01)
    assert found["low"] > FACTOR / 1.02
    assert found["high"] < FACTOR * 1.02


# ----------------------------------------------------------------------------------------- runtimes

OF_RUNTIMES = {"3.14": 1.0, "3.14t": 2.0, "go": 20.0, "node": 0.5}


@cache
def studied(
    *pythons: str,
    loops: tuple[str, ...] = ("asyncio",),
    models: tuple[str, ...] = ("threads",),
    runtimes: tuple[str, ...] = ("go", "node"),
    runtimes_as: str = "threads",
) -> FakeStudy:
    """One study of Pythons, and of other runtimes on their own loops, in the same blocks."""
    several = [(pythons, loops, models), (runtimes, ("own",), (runtimes_as,))]
    parts = [
        FakeStudy(
            variants={"spawn": [{}]},
            arms=arms,
            loops=on,
            models=under,
            workers=(1, 2),
            blocks=8,
            noise=0.002,
            speeds={(a, m, n): n * OF_RUNTIMES[a] for a in arms for m in under for n in (1, 2)},
            change=without_python,
        )
        for arms, on, under in several
    ]
    first, others = parts
    arms = {**first.first_line.arms, **{name: runtime(name, f"{name} 9") for name in runtimes}}
    cells = [*first.every_cell, *others.every_cell]
    speeds = {**first.speeds, **others.speeds}
    return replace(first, cells=cells, speeds=speeds, head={"arms": arms})


def without_python(run: RunLine) -> RunLine:
    """A run as a runtime without GIL and pymalloc reports it."""
    if run.record is None or run.cell.loop != "own":
        return run
    facts = ProcessFacts()
    bare = of_workers(run, lambda each: with_(each, process=facts) if each.process else each)
    return with_(bare, record__process=facts)


def test_it_is_as_many_threads_of_the_first_python_on_asyncio() -> None:
    pythons = ("3.14t", "3.14")
    found = rates(
        studied(*pythons, loops=("asyncio", "trio"), models=("processes", "threads")), "runtime"
    )
    assert found[[*OF, *BASELINE]].to_numpy().tolist() == [
        ["own", arm, "threads", n, "asyncio", pythons[0], "threads", n]
        for arm in ("go", "node")
        for n in (1, 2)
    ]
    expected = [OF_RUNTIMES[arm] / OF_RUNTIMES[pythons[0]] for arm in found["arm"]]
    assert found["ratio"].tolist() == pytest.approx(expected, rel=0.01)
    assert found["word"].tolist() == ["faster", "faster", "slower", "slower"]


def test_runtimes_are_no_loops_and_decide_nothing_between_pythons() -> None:
    """Go's processes show what the machine gives; nothing is compared with these."""
    made = studied(
        "3.14",
        "3.14t",
        loops=("asyncio", "uvloop"),
        models=("threads", "processes"),
        runtimes=("go",),
        runtimes_as="processes",
    )
    ratios = made.study.ratios
    assert set(where(ratios, question="loop")["loop"]) == {"uvloop"}
    go = one(ratios, question="gain", arm="go")
    assert go["ratio"] == pytest.approx(2, rel=0.01)
    assert not go["headline"]
    assert set(where(ratios, question=OVER_PROCESSES)["over_arm"]) == {"3.14"}
    assert where(ratios, question="runtime").empty


def test_a_ratio_of_two_libraries_or_runtimes_is_said_to_be_of_more_than_these() -> None:
    for study, question, note in (
        (ARMS, "loop", "With trio or anyio the program is written for that library"),
        (studied("3.14t"), "runtime", "Runtimes differ in everything"),
    ):
        (grid,) = of_question(question, "").grids(study.study)
        assert grid.notes[0].startswith(note)
