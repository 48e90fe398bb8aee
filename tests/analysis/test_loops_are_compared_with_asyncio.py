"""Another loop is compared with asyncio at the same arm, model and N, in the same blocks."""

import io
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from typer.testing import CliRunner

from scaling.analysis.ratios import direction_of, ratios
from scaling.analysis.results import StudyResults
from scaling.analysis.statistics.estimate import median
from scaling.cli.program import app
from scaling.journal.record import RunLine
from scaling.report.output import finish
from scaling.report.tables.comparison import chapters
from scaling.report.tables.export import comparison_rows
from scaling.report.tables.terminal import Chapters
from scaling.study.questions import THROUGHPUT, loops
from tests.support.comparisons import across_loops, chapter, place
from tests.support.fabricate import LOOP_FACTORS, Made, studied, with_
from tests.support.verdicts import verdicts

FACTOR = LOOP_FACTORS["uvloop"]
TITLE = "What the loop changed: over asyncio"
ONE_ARM = Made(loops=("asyncio", "uvloop"), workers=(1, 2, 4), blocks=8, noise=0.002, aa_pairs=True)
ARMS = Made(
    arms=("3.14", "3.14t"),
    models=("threads", "processes"),
    loops=("asyncio", "trio", "uvloop"),
    workers=(1, 2),
    blocks=8,
)


def test_every_arm_model_and_n_is_compared_with_the_same_on_asyncio(tmp_path: Path) -> None:
    found = across_loops(studied(tmp_path, ARMS)).ratios.where("loop", THROUGHPUT)
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


def test_ratios_are_taken_inside_blocks(tmp_path: Path) -> None:
    """Blocks lost on one loop or the other, and runs of blocks that are a hundred times apart."""

    def change(run: RunLine) -> RunLine:
        lost = (run.cell.loop == "asyncio") == (run.block == 1) and run.block in (1, 4)
        if lost:
            return with_(run, outcome="crashed", record=None, exit_code=1)
        return run

    study = studied(tmp_path, ONE_ARM, change)
    frame = study.frame.copy()
    frame["throughput_per_s"] *= 10.0 ** (frame["block"] % 3)
    (found,) = [each for each in StudyResults(frame, study.study).compared if each.is_across_loops]
    valid = frame[frame["valid"] & ~frame["twin"] & (frame["workers"] == 2)]
    table = valid.pivot_table(index="block", columns="loop", values="throughput_per_s")
    expected = median(table["uvloop"] / table["asyncio"], "×")
    loops = found.ratios.where("loop", THROUGHPUT)
    (two,) = [each for each in loops if each.of.workers == 2]
    assert two.n == expected.n == 6
    figures = (two.point, two.low, two.high)
    assert figures == pytest.approx((expected.point, expected.low, expected.high))


def test_verdicts_are_one_family(tmp_path: Path) -> None:
    results = StudyResults.of(studied(tmp_path, ARMS))
    asked = loops(results.blocks)
    found = ratios(results.blocks, asked)
    expected = verdicts(
        [each.blocks for each in found],
        [each.verdict.margin for each in found],
        [direction_of(each.measure) for each in found],
        "exploratory",
    )
    told = [each.verdict for each in found]
    assert told == expected
    assert {each.word for each in told} >= {"faster", "less"}


def test_a_study_of_one_arm_has_this_chapter_alone(tmp_path: Path) -> None:
    study = studied(tmp_path, ONE_ARM)
    told = [each.title for each in chapters(StudyResults.of(study), alone=False)]
    assert told == ["echo · weak sizing"]
    _, grid = chapter(study, TITLE).grids
    assert [row[:3] for row in grid.rows] == [
        [str(n), "uvloop", "3.14t\nthreads"] for n in (1, 2, 4)
    ]
    assert not grid.note


def test_the_answer_is_at_the_largest_n_with_a_core_each(tmp_path: Path) -> None:
    answer = chapter(studied(tmp_path, ONE_ARM), TITLE).grids[0]
    (faster, faster_by), (less, less_by) = [(row[0], str(row[3])) for row in answer.rows]
    assert faster == "2 threads on 3.14t with uvloop over asyncio"
    assert re.fullmatch(r"faster, by 3\d to 3\d % \(exploratory\)", faster_by)
    assert less == "… CPU time per operation"
    assert re.fullmatch(r"less, by 2\d(?: to 2\d)? % \(exploratory\)", less_by)
    margin = re.compile(r"Verdicts use a margin of ±2 %")
    assert margin.search(answer.note)


def test_each_loop_has_its_row(tmp_path: Path) -> None:
    answer = chapter(studied(tmp_path, ARMS), TITLE).grids[0]
    assert [row[0] for row in answer.rows[::2]] == [
        "2 threads on 3.14t with trio over asyncio",
        "2 threads on 3.14t with uvloop over asyncio",
    ]


def test_too_few_blocks_are_no_verdict(tmp_path: Path) -> None:
    few = Made(arms=ARMS.arms, loops=("asyncio", "uvloop"), workers=(1,))
    answer = chapter(studied(tmp_path, few), TITLE).grids[0]
    said = [str(row[3]) for row in answer.rows]
    assert all(each.startswith("inconclusive, too few blocks: leaning ") for each in said)
    assert all(each.endswith("; 3 of 6 blocks") for each in said)


def test_another_library_is_labelled_as_another_program(tmp_path: Path) -> None:
    (grid,) = [
        each for each in chapter(studied(tmp_path, ARMS), TITLE).grids if each.title == TITLE
    ]
    assert grid.note.startswith("With trio or anyio the program is written for that library")


def test_rows_name_the_loops_of_both_ways(tmp_path: Path) -> None:
    study = studied(tmp_path, ARMS)
    rows = comparison_rows(StudyResults.of(study))
    mine = rows[rows["question"] == "loop"]
    assert set(mine["loop"]) == {"trio", "uvloop"}
    assert set(mine["over_loop"]) == {"asyncio"}
    assert set(mine["measure"]) == {"throughput", "cpu_s_per_op"}
    assert (mine["arm"] == mine["over_arm"]).all()
    assert (mine["runs"] == 8).all()
    others = rows[rows["question"] != "loop"]
    assert (others["loop"] == others["over_loop"]).all()
    assert set(others["loop"]) == set(ARMS.loops)


def test_a_ratio_across_allocator_states_names_the_loops(tmp_path: Path) -> None:
    def keeping(run: RunLine) -> RunLine:
        """On uvloop no memory is mapped anew."""
        if run.record is None or run.cell.loop != "uvloop":
            return run
        workers = [
            with_(each, ticks__minor_faults=[900] * len(each.ticks.time_ns))
            for each in run.record.workers
        ]
        return with_(run, record__workers=workers)

    made = Made(arms=("3.14",), loops=("asyncio", "uvloop"), workers=(2,))
    words = chapter(studied(tmp_path, made, keeping), TITLE).grids[0].note
    assert (
        "2 threads on 3.14 with uvloop (keeping) over 2 threads on 3.14 with asyncio (mapping)"
        in words
    )


@pytest.mark.parametrize("loops", [("asyncio",), ("trio", "uvloop")])
def test_without_asyncio_and_another_loop_nothing_is_shown(
    tmp_path: Path, loops: tuple[str, ...]
) -> None:
    study = studied(tmp_path, Made(loops=loops))
    assert StudyResults(study.frame, study.study).compared == []


def test_a_loop_that_never_ran_well_is_left_out(tmp_path: Path) -> None:
    def change(run: RunLine) -> RunLine:
        bad = run.cell.loop == "trio"
        return with_(run, outcome="crashed", record=None, exit_code=1) if bad else run

    made = Made(loops=("asyncio", "trio", "uvloop"), workers=(1, 2))
    loops = across_loops(studied(tmp_path, made, change)).ratios.where("loop")
    assert {each.of.loop for each in loops} == {"uvloop"}
    assert not any(np.isnan(each.point) for each in loops)


@pytest.mark.usefixtures("undrawn")
@pytest.mark.slow
def test_it_is_printed_after_a_run_and_by_compare(tmp_path: Path) -> None:
    studied(tmp_path, ONE_ARM)
    finish(tmp_path, Console(quiet=True))
    assert f"**{TITLE}**" in (tmp_path / "tables.md").read_text()
    assert set(pd.read_csv(tmp_path / "comparison.csv")["question"]) == {"gain", "loop"}
    result = CliRunner().invoke(app, ["compare", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert TITLE in result.output


def test_it_fits_a_terminal(tmp_path: Path) -> None:
    made = Made(
        arms=("3.14+mimalloc", "3.14t"),
        models=("threads", "interpreters"),
        loops=("asyncio", "anyio/asyncio"),
        blocks=8,
    )
    console = Console(file=io.StringIO(), width=80, color_system=None)
    console.print(Chapters([chapter(studied(tmp_path, made), TITLE)]))
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert any("anyio/asyncio" in line and "3.14+mimalloc" in line for line in lines)
