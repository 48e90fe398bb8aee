"""The first screen of a report: its verdicts are those of the tables below it."""

from pathlib import Path

from scaling.analysis.results import StudyResults
from scaling.report.page.answer import answer_block
from scaling.report.plots.verdicts import draw
from scaling.report.tables.findings import times
from scaling.report.tables.headline import headline_findings, headline_sentence, headlines
from tests.support.comparisons import place
from tests.support.fabricate import Made, studied

ARMS = ("3.14", "3.14t")
TWO = ("asyncio", "uvloop")


def results_of(path: Path, made: Made) -> StudyResults:
    return StudyResults.of(studied(path, made))


def test_a_row_for_each_loop_has_what_the_tables_have(tmp_path: Path) -> None:
    made = Made(arms=ARMS, loops=TWO, models=("threads", "processes"), workers=(1, 2, 4), blocks=6)
    results = results_of(tmp_path, made)
    (grid,) = answer_block(results).figures[0].grids
    each_loop = [each for each in results.compared if not each.is_across_loops]
    gains, processes = grid.rows[:2], grid.rows[2:]
    for gain, process, found in zip(gains, processes, each_loop, strict=True):
        (own,) = [
            each for each in found.ratios.where("gain") if place(each.of) == ("3.14t", "threads", 2)
        ]  # the machine has as many cores
        assert gain[1:3] == [times(own), own.bounds]
        (ratio,) = [r for r in found.over_processes if r.of == own.of]
        assert process[1:3] == [times(ratio.throughput), ratio.throughput.bounds]


def test_without_processes_there_are_gains_alone(tmp_path: Path) -> None:
    results = results_of(tmp_path, Made(arms=("3.14t",), loops=TWO, workers=(1, 2)))
    (grid,) = answer_block(results).figures[0].grids
    assert [row[0] for row in grid.rows] == [
        f"echo · {loop}: 2 threads on 3.14t over 1 thread" for loop in TWO
    ]


def test_the_sentence_of_several_has_the_smallest_and_largest_ratio(tmp_path: Path) -> None:
    made = Made(arms=("3.14t",), loops=TWO, workers=(1, 2), blocks=6, noise=0.05)
    found = headlines(results_of(tmp_path, made))
    low, high = sorted(times(gain) for each in found for gain in each.gains)
    assert low < high
    assert headline_sentence(found) == (
        f"2 threads on 3.14t do {low} to {high} the work of 1 thread "
        "(medians; faster in all cases)."
    )


def test_loops_alone_are_no_answer_about_programs(tmp_path: Path) -> None:
    """A ratio of loops is named as one, and how far it reaches is said."""
    results = results_of(tmp_path, Made(arms=("3.14t",), loops=TWO, workers=(1,), blocks=6))
    block = answer_block(results)
    (grid,) = block.figures[0].grids
    assert [row[0] for row in grid.rows] == ["echo: 1 thread on 3.14t with uvloop over asyncio"]
    assert block.words == ["1 ratio of throughput (faster in all cases)."]
    assert "do not forecast what another program would gain" in block.notes[0]


def test_the_picture_names_arm_and_model_of_each_ratio(tmp_path: Path) -> None:
    arms, models = ("3.14", "3.14+mimalloc", "3.14t"), ("threads", "processes")
    speeds = {("3.14+mimalloc", "processes", n): 9.0 * n for n in (1, 2)}
    made = Made(arms=arms, loops=TWO, models=models, workers=(1, 2), blocks=6, speeds=speeds)
    results = results_of(tmp_path, made)
    found = headline_findings(headlines(results))
    (axes,) = draw(found, "").all_panels
    shown = [" ".join(label.get_text().split()) for label in axes.get_yticklabels()]
    assert shown == [each.question for each in found]
    assert any("processes on 3.14+mimalloc" in each for each in shown)
