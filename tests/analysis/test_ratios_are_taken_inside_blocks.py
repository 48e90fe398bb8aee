"""A ratio is that of runs in the same block; it says whether these were in turn, and of each
question one is the headline.
"""

from dataclasses import replace

import pytest

from scaling.journal.record import RunLine
from scaling.report.csv import comparison
from scaling.report.view.notes import turns
from scaling.study.questions import THROUGHPUT
from tests.support.plans import ECHO_FILE, asked
from tests.support.runs import LOOP_FACTORS, crashed, with_, with_speed
from tests.support.studies import FakeStudy, one

LOOPS = FakeStudy(loops=("asyncio", "uvloop"), workers=(1, 2), blocks=8, noise=0.002, ticks=4)
MODELS = FakeStudy(models=("threads", "processes"), ticks=4)


def test_blocks_that_lack_a_run_or_are_far_apart_move_no_ratio() -> None:
    def change(run: RunLine) -> RunLine:
        if (run.cell.loop == "asyncio") == (run.block == 1) and run.block in (1, 4):
            return crashed(run)
        return with_speed(run, 10.0 ** (run.block % 3))

    ratios = replace(LOOPS, change=change).study.ratios
    found = one(ratios, question="loop", measure=THROUGHPUT, workers=2)
    factor = LOOP_FACTORS["uvloop"]
    assert found["n"] == 6
    assert found["ratio"] == pytest.approx(factor, rel=0.01)
    assert factor / 1.02 < found["low"] < found["high"] < factor * 1.02


def in_groups(run: RunLine) -> RunLine:
    """Cells with the same N take turns; in one block those at N = 2 are in two groups."""
    is_apart = run.block == 1 and run.cell.workers == 2 and run.cell.model == "processes"
    return with_(run, group=99 if is_apart else run.cell.workers)


def test_cells_of_one_group_in_every_block_were_measured_in_turn() -> None:
    """A single block in two groups is enough to say no."""
    study = replace(MODELS, change=in_groups).study
    apart = study.ratios[study.ratios["question"] == "over processes"].groupby("workers")
    found = {n: set(why) for n, why in apart["why_not_in_turn"]}
    assert found == {1: {""}, 2: {"one group had no room for both"}, 4: {""}}
    rows = comparison(study)
    assert (rows["in_turn"] == (rows["why_not_in_turn"] == "")).all()
    assert "not: gain (they have another number of workers)" in turns(study)
    assert turns(MODELS.study) == ""  # of a journal that knows no turns


@pytest.mark.parametrize(
    ("study", "expected"),
    [
        (FakeStudy(workers=(1, 2, 4, 8), cores=4, blocks=6), {4}),
        (FakeStudy(cores=1, logical=1, blocks=6), {4}),
    ],
    ids=["the largest with a core each", "on one core the largest"],
)
def test_the_headline_is_of_one_n(study: FakeStudy, expected: set[int]) -> None:
    ratios = study.study.ratios
    assert set(ratios.loc[ratios["headline"], "workers"]) == expected


def test_the_journal_keeps_which_questions_were_named() -> None:
    named, unnamed = (
        asked(f"{text}\n{ECHO_FILE}") for text in ("primary = ['version', 'gain']", "")
    )
    assert named.document["primary"] == ("version", "gain")
    assert "primary" not in unnamed.document, "a study that names none is the one it was before"
