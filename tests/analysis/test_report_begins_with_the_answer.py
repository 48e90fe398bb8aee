"""A report's answer begins with one table, whose figures are those of the tables that follow."""

from pathlib import Path

from scaling.analysis.results import StudyResults
from scaling.base import formats
from scaling.report.page.answer import answer_blocks
from tests.support.fabricate import Made, studied

ARMS = ("3.14", "3.14t")
TWO = ("asyncio", "uvloop")


def told(path: Path, made: Made) -> StudyResults:
    read = studied(path, made)
    return StudyResults(read.frame, read.study)


def test_a_row_for_each_loop_has_what_the_tables_have(tmp_path: Path) -> None:
    made = Made(arms=ARMS, loops=TWO, models=("threads", "processes"), workers=(1, 2, 4), blocks=6)
    study = told(tmp_path, made)
    short, *_ = answer_blocks(study)
    (grid,) = short.grids
    each_loop = [each for each in study.compared if not each.is_across_loops]
    assert len(grid.rows) == len(each_loop) == len(TWO)
    for (name, n, _, over_gil, *over_processes), found in zip(grid.rows, each_loop, strict=True):
        assert (name, n) == (found.runs.title, "2")  # the machine has as many cores
        (ladder,) = [each for each in found.ladders if each.workers == 2]
        (rival,) = [r for r in found.baseline_ratios if r.ours == ladder.top]
        assert over_gil == ladder.headline
        assert over_processes == [rival.throughput, rival.cpu_s_per_op, rival.memory]


def test_columns_that_nothing_is_known_of_are_not_there(tmp_path: Path) -> None:
    short, *_ = answer_blocks(told(tmp_path, Made(arms=("3.14t",), loops=TWO, workers=(1, 2))))
    (grid,) = short.grids
    assert grid.headings == ["workload and loop", "N", "over one thread"]
    assert not any(formats.BLANK in row for row in grid.rows)
    assert "processes" not in grid.note


def test_one_row_is_no_table(tmp_path: Path) -> None:
    blocks = answer_blocks(told(tmp_path, Made(arms=ARMS, workers=(1, 2))))
    assert [block.title for block in blocks if block.grids] == []
