"""The first screen of a report: its verdicts are those of the tables below it. A table that is too
wide goes on in another.
"""

from dataclasses import replace

from scaling.analysis.statistics.estimate import median
from scaling.report.page.answer import answer_block
from scaling.report.page.parts import in_parts
from scaling.report.plots.verdicts import draw
from scaling.report.tables.findings import times
from scaling.report.tables.grid import Cell, Grid
from scaling.report.tables.headline import headline_findings, headline_sentence, headlines
from tests.support.studies import FakeStudy

BOTH = ("threads", "processes")
TWO_LOOPS = FakeStudy(loops=("asyncio", "uvloop"), workers=(1, 2), blocks=8, ticks=4)


def test_a_row_of_the_answer_for_each_loop_has_what_the_tables_have() -> None:
    results = replace(TWO_LOOPS, arms=("3.14", "3.14t"), models=BOTH).results
    block, _ = answer_block(results)
    (grid,) = block.figures[0].grids
    each_loop = [each for each in results.compared if not each.is_across_loops]
    for gain, process, found in zip(grid.rows[:2], grid.rows[2:], each_loop, strict=True):
        (own,) = [
            each
            for each in found.ratios.where("gain")
            if (each.of.arm, each.of.model, each.of.workers) == ("3.14t", "threads", 2)
        ]  # the machine has as many cores
        assert gain[1:3] == [times(own), own.bounds]
        (ratio,) = [r for r in found.over_processes if r.of == own.of]
        assert process[1:3] == [times(ratio.throughput), ratio.throughput.bounds]


def test_without_processes_there_are_gains_alone_and_a_sentence_of_the_least_and_most() -> None:
    results = replace(TWO_LOOPS, noise=0.05).results
    block, _ = answer_block(results)
    (grid,) = block.figures[0].grids
    assert [row[0] for row in grid.rows] == [
        f"echo · {loop}: 2 threads on 3.14t over 1 thread" for loop in TWO_LOOPS.loops
    ]
    found = headlines(results)
    low, high = sorted(times(gain) for each in found for gain in each.headline_gains)
    assert low < high
    assert headline_sentence(found) == (
        f"2 threads on 3.14t do {low} to {high} the work of 1 thread "
        "(medians; faster in all cases)."
    )


def test_loops_alone_are_no_answer_about_programs() -> None:
    """A ratio of loops is named as one, and how far it reaches is said."""
    block, _ = answer_block(replace(TWO_LOOPS, workers=(1,)).results)
    (grid,) = block.figures[0].grids
    assert [row[0] for row in grid.rows] == ["echo: 1 thread on 3.14t with uvloop over asyncio"]
    assert block.words == ["1 ratio of throughput (faster in all cases)."]
    assert "do not forecast what another program would gain" in block.notes[0]


def test_the_picture_of_the_answer_names_arm_and_model_of_each_ratio() -> None:
    speeds = {("3.14+mimalloc", "processes", n): 9.0 * n for n in (1, 2)}
    arms = ("3.14", "3.14+mimalloc", "3.14t")
    results = replace(TWO_LOOPS, arms=arms, models=BOTH, speeds=speeds).results
    found = headline_findings(headlines(results))
    (axes,) = draw(found, "").all_panels
    shown = [" ".join(label.get_text().split()) for label in axes.get_yticklabels()]
    assert shown == [each.question for each in found]
    assert any("processes on 3.14+mimalloc" in each for each in shown)


def test_a_table_with_no_room_for_all_columns_goes_on_in_another() -> None:
    headings = ["curve", "N", *(f"figure {n}" for n in range(30))]
    values = [median([1_000.0 * n, 2_000.0 * n], "") for n in range(30)]
    row: list[Cell] = ["asyncio · 3.14t", "2", *values]
    grid = Grid("Many", headings, [row], words=2, note="said once")
    several = in_parts(grid)
    assert len(several) > 1
    assert [each.title for each in several] == ["Many", *["Many, continued"] * (len(several) - 1)]
    assert [each.note for each in several] == [*[""] * (len(several) - 1), "said once"]
    assert all(each.headings[:2] == ["curve", "N"] and each.words == 2 for each in several)
    assert [head for each in several for head in each.headings[2:]] == headings[2:]
    assert [cell for each in several for cell in each.rows[0][2:]] == row[2:]
    narrow = grid.columns(range(5))
    assert in_parts(narrow) == [narrow]


def test_words_are_broken_into_lines_and_need_no_further_table() -> None:
    sentence = "words " * 100
    grid = Grid("Words", ["what", "why", "how"], [[sentence] * 3], words=3)
    assert in_parts(grid) == [grid]
