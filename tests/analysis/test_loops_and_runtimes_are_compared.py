"""Another loop is over asyncio at the same arm, model and N; a runtime over the first Python.

That runtimes differ in everything is said."""

import re
from dataclasses import replace
from functools import cache

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from scaling.analysis.comparison import Compared
from scaling.analysis.results import StudyResults
from scaling.analysis.statistics.estimate import median
from scaling.journal.record import ProcessFacts, RunLine
from scaling.report.plots.draw import subjects
from scaling.report.plots.style import RC
from scaling.report.tables.comparison import chapters
from scaling.report.tables.export import comparison_rows
from scaling.report.tables.grid import Chapter
from scaling.study.questions import THROUGHPUT
from tests.support.drawn import BY_NAME
from tests.support.runs import LOOP_FACTORS, crashed, keeping_memory, of_workers, with_
from tests.support.studies import FakeStudy, place, runtime

FACTOR = LOOP_FACTORS["uvloop"]
LOOPS = "What the loop changed: over asyncio"
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


def of_frame(study: FakeStudy, frame: pd.DataFrame) -> list[Compared]:
    """The comparisons across loops of runs of the study."""
    found = StudyResults(frame, study.first_line).compared
    return [each for each in found if each.is_across_loops]


def across_loops(study: FakeStudy) -> Compared:
    """The comparison of loops with each other, of which a study has one."""
    (found,) = of_frame(study, study.frame)
    return found


def chapter(study: FakeStudy, title: str) -> Chapter:
    """The chapter with the table of that title."""
    (found,) = [
        each for each in chapters(study.results) if title in [grid.title for grid in each.grids]
    ]
    return found


def test_every_arm_model_and_n_is_compared_with_the_same_on_asyncio() -> None:
    found = across_loops(ARMS).ratios.where("loop", THROUGHPUT)
    pairs = {(place(each.of), each.of.loop, place(each.over), each.over.loop) for each in found}
    assert pairs == {
        ((arm, model, n), loop, (arm, model, n), "asyncio")
        for arm in ARMS.arms
        for model in ARMS.models
        for n in ARMS.workers
        for loop in ("trio", "uvloop")
    }
    assert len(found) == len(pairs)
    for each in found:
        faster = each.of.loop == "uvloop"
        assert each.point == pytest.approx(FACTOR if faster else 1.0, rel=0.03)


def test_ratios_are_taken_inside_blocks() -> None:
    """Blocks lost on one loop or the other, and runs of blocks that are a hundred times apart."""

    def change(run: RunLine) -> RunLine:
        lost = (run.cell.loop == "asyncio") == (run.block == 1) and run.block in (1, 4)
        return crashed(run) if lost else run

    study = replace(ONE_ARM, change=change)
    frame = study.frame.copy()
    frame["throughput_per_s"] *= 10.0 ** (frame["block"] % 3)
    (found,) = of_frame(study, frame)
    valid = frame[frame["valid"] & ~frame["twin"] & (frame["workers"] == 2)]
    table = valid.pivot_table(index="block", columns="loop", values="throughput_per_s")
    expected = median(table["uvloop"] / table["asyncio"], "×")
    loops = found.ratios.where("loop", THROUGHPUT)
    (two,) = [each for each in loops if each.of.workers == 2]
    assert two.n == expected.n == 6
    figures = (two.point, two.low, two.high)
    assert figures == pytest.approx((expected.point, expected.low, expected.high))


def test_a_study_of_one_arm_has_this_chapter_alone() -> None:
    told = [each.title for each in chapters(ONE_ARM.results, alone=False)]
    assert told == ["echo · weak sizing"]
    _, grid = chapter(ONE_ARM, LOOPS).grids
    assert [row[:3] for row in grid.rows] == [
        [str(n), "uvloop", "3.14t\nthreads"] for n in (1, 2, 4)
    ]
    assert not grid.note


def test_the_answer_is_at_the_largest_n_with_a_core_each() -> None:
    answer = chapter(ONE_ARM, LOOPS).grids[0]
    (faster, faster_by), (less, less_by) = [(row[0], str(row[3])) for row in answer.rows]
    assert faster == "2 threads on 3.14t with uvloop over asyncio"
    assert re.fullmatch(r"faster, by 3\d to 3\d % \(exploratory\)", faster_by)
    assert less == "… CPU time per operation"
    assert re.fullmatch(r"less, by 2\d(?: to 2\d)? % \(exploratory\)", less_by)
    margin = re.compile(r"Verdicts use a margin of ±2 %")
    assert margin.search(answer.note)


def test_each_loop_has_its_row_and_another_library_is_called_another_program() -> None:
    answer, grid = chapter(ARMS, LOOPS).grids
    assert [row[0] for row in answer.rows[::2]] == [
        f"2 threads on 3.14t with {loop} over asyncio" for loop in ("trio", "uvloop")
    ]
    assert grid.note.startswith("With trio or anyio the program is written for that library")


def test_rows_name_the_loops_of_both_ways() -> None:
    rows = comparison_rows(ARMS.results)
    mine = rows[rows["question"] == "loop"]
    assert set(mine["loop"]) == {"trio", "uvloop"}
    assert set(mine["over_loop"]) == {"asyncio"}
    assert set(mine["measure"]) == {"throughput", "cpu_s_per_op"}
    assert (mine["arm"] == mine["over_arm"]).all()
    assert (mine["runs"] == 8).all()
    others = rows[rows["question"] != "loop"]
    assert (others["loop"] == others["over_loop"]).all()
    assert set(others["loop"]) == set(ARMS.loops)


def test_a_ratio_across_allocator_states_names_the_loops() -> None:
    def keeping(run: RunLine) -> RunLine:
        """On uvloop no memory is mapped anew."""
        return keeping_memory(run) if run.cell.loop == "uvloop" else run

    made = FakeStudy(arms=("3.14",), loops=("asyncio", "uvloop"), workers=(2,))
    words = chapter(replace(made, change=keeping), LOOPS).grids[0].note
    assert (
        "2 threads on 3.14 with uvloop (keeping) over 2 threads on 3.14 with asyncio (mapping)"
        in words
    )


@pytest.mark.parametrize("loops", [("asyncio",), ("trio", "uvloop")])
def test_without_asyncio_and_another_loop_nothing_is_shown(loops: tuple[str, ...]) -> None:
    assert FakeStudy(loops=loops).results.compared == []


def test_a_loop_that_never_ran_well_is_left_out() -> None:
    def change(run: RunLine) -> RunLine:
        return crashed(run) if run.cell.loop == "trio" else run

    made = FakeStudy(loops=("asyncio", "trio", "uvloop"), workers=(1, 2))
    loops = across_loops(replace(made, change=change)).ratios.where("loop")
    assert {each.of.loop for each in loops} == {"uvloop"}
    assert not any(np.isnan(each.point) for each in loops)


RUNTIMES = "Other runtimes over Python"
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


@pytest.mark.parametrize("pythons", [("3.14t", "3.14"), ("3.14", "3.14t")])
def test_it_is_as_many_threads_of_the_first_python_on_asyncio(pythons: tuple[str, ...]) -> None:
    study = studied(*pythons, loops=("asyncio", "trio"), models=("processes", "threads"))
    found = across_loops(study).ratios.where("runtime", THROUGHPUT)
    pairs = [(place(each.of), each.of.loop, place(each.over), each.over.loop) for each in found]
    assert pairs == [
        ((runtime, "threads", n), "own", (pythons[0], "threads", n), "asyncio")
        for runtime in ("go", "node")
        for n in (1, 2)
    ]
    for each in found:
        expected = OF_RUNTIMES[each.of.arm] / OF_RUNTIMES[pythons[0]]
        assert each.point == pytest.approx(expected, rel=0.01)
    words = [each.verdict.word for each in found]
    assert words == ["faster", "faster", "slower", "slower"]


def test_it_is_over_the_first_python_that_has_threads_on_asyncio() -> None:
    study = studied("3.14", "3.14t", loops=("asyncio", "anyio/asyncio"))
    of_first = study.frame["arm"] == "3.14"
    without_anyio = study.frame[~of_first | (study.frame["loop"] == "asyncio")]
    for frame, arm in ((without_anyio, "3.14"), (study.frame[~of_first], "3.14t")):
        (found,) = of_frame(study, frame)
        assert {each.over.arm for each in found.ratios.where("runtime")} == {arm}
    assert of_frame(study, study.frame[study.frame["loop"] == "own"]) == []


def test_the_table_says_that_they_differ_in_everything() -> None:
    found = chapter(studied("3.14t"), RUNTIMES)
    assert found.title == "spawn · weak sizing"
    _, grid = found.grids
    assert grid.note.startswith("Runtimes differ in everything")
    assert [row[:3] for row in grid.rows] == [
        [n, runtime, "3.14t\nthreads\nasyncio"] for runtime in ("go", "node") for n in ("1", "2")
    ]


def test_the_answer_has_a_row_for_each() -> None:
    answer, _ = chapter(studied("3.14t"), RUNTIMES).grids
    go, _, node, _ = answer.rows
    assert go[0] == "go at N = 2 over 2 threads on 3.14t with asyncio"
    assert re.fullmatch(r"(9\.9|10\.)\d*×", str(go[1]))
    assert re.fullmatch(r"[\d.]+–[\d.]+", str(go[2]))
    assert [getattr(row[3], "word", None) for row in (go, node)] == ["faster", "slower"]


def test_runtimes_are_among_the_ratios_of_the_study() -> None:
    rows = comparison_rows(studied("3.14t").results)
    assert set(rows["question"]) == {"gain", "runtime"}
    told = rows.loc[rows["question"] == "runtime", ["arm", "loop", "over_arm", "over_loop"]]
    assert set(told.itertuples(index=False, name=None)) == {
        (arm, "own", "3.14t", "asyncio") for arm in ("go", "node")
    }


def test_a_runtime_is_no_loop_and_is_drawn_beside_every_loop() -> None:
    study = studied("3.14t", loops=("asyncio", "uvloop"))
    found = across_loops(study).ratios
    assert {each.of.loop for each in found.where("loop")} == {"uvloop"}
    assert {each.of.arm for each in found.where("runtime")} == {"go", "node"}
    (subject,) = subjects(study.results).values()
    assert subject.loops == ["asyncio", "uvloop"]
    with mpl.rc_context(RC):
        sheet = BY_NAME["throughput"].draw(subject)
    for axes, loop in zip(sheet.all_panels, subject.loops, strict=True):
        assert axes.get_title(loc="left") == loop
        bars = sorted(str(each.get_label()) for each in axes.containers)
        assert bars == ["3.14t threads", "go threads", "node threads"]


def test_gos_processes_are_drawn_beside_every_loop_and_decide_nothing() -> None:
    study = studied(
        "3.14",
        "3.14t",
        loops=("asyncio", "uvloop"),
        models=("threads", "processes"),
        runtimes=("go",),
        runtimes_as="processes",
    )
    found = study.results
    (subject,) = subjects(found).values()
    for loop in subject.loops:
        drawn = [(curve.key.arm, curve.key.model) for curve in subject.on(loop, "processes")]
        assert ("go", "processes") in drawn
    alone = [each for each in found.judged if not each.is_across_loops]
    (go,) = [g for each in alone for g in each.ratios.where("gain") if g.of.arm == "go"]
    assert go.point == pytest.approx(2, rel=0.01)
    assert not go.is_headline
    for each in alone:
        assert all(base.throughput.over.arm == "3.14" for base in each.over_processes)
        assert "go" not in [best.arm for best in each.ceiling]
    assert not across_loops(study).ratios.where("runtime")


def test_alone_it_has_a_panel_of_its_own() -> None:
    study = studied("3.14t")
    alone = StudyResults(study.frame[study.frame["arm"] == "go"], study.first_line)
    (subject,) = subjects(alone).values()
    assert subject.loops == ["own"]
    assert [curve.key.arm for curve in subject.on("own")] == ["go"]
