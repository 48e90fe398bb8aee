"""A/A pairs check the words: none is given where equal cells differ. Other figures lack them."""

from dataclasses import replace

import pandas as pd
import pytest
import scipy

from scaling.analysis.tables.across import across
from scaling.analysis.tables.pairs import EQUAL_CELLS
from scaling.analysis.tables.ratios import EQUAL_DIFFER
from scaling.analysis.tables.study import Study
from scaling.analysis.tables.words import is_proven
from scaling.journal.record import RunLine
from scaling.report.csv import summary
from scaling.report.view.notes import withheld
from scaling.report.view.tables import ISSUES
from scaling.study.plan.order import repeated
from scaling.study.questions import CAPACITY, CPU, MEMORY, OVER_PROCESSES, P99, THROUGHPUT
from tests.support.runs import Change, crashed, throttled, with_, with_speed
from tests.support.served_studies import FakeServedStudy
from tests.support.studies import FakeStudy, one, where
from tests.support.tables import PUBLISHED

EXACT = FakeStudy(aa_pairs=True, workers=(1, 2), blocks=8, ticks=4, noise=0, tick_noise=0)


def of_twins(change: Change) -> Change:
    """The change in the second runs of A/A pairs alone."""
    return lambda run: change(run) if run.repeat else run


def faster(factor: float) -> Change:
    return of_twins(lambda run: with_speed(run, factor))


def pairs(study: Study) -> pd.DataFrame:
    return where(study.ratios, question=EQUAL_CELLS)


def test_where_equal_cells_differ_no_word_is_given_on_that_measure() -> None:
    """And their bounds neither; memory, in which they do not differ, keeps its words."""
    made = replace(EXACT, configurations=(("3.14t", "threads"), ("3.14", "processes")))
    study = replace(made, change=faster(1.1)).study
    ratios = where(study.ratios, question=OVER_PROCESSES)
    doubted, sure = ratios[ratios["measure"] != MEMORY], where(ratios, measure=MEMORY)
    assert set(doubted["why"]) == {EQUAL_DIFFER}
    assert set(doubted["word"]) == {""}
    assert doubted[["at_most_percent", "p"]].isna().all(axis=None)
    assert set(sure["why"]) == {""}
    assert "throughput (echo)" in withheld(study)
    assert withheld(made.study) == ""


def test_few_blocks_and_what_is_not_proven_withhold_nothing() -> None:
    for study in (
        replace(EXACT, blocks=5, change=faster(1.1)),
        replace(EXACT, change=faster(1.015)),
        replace(EXACT, change=of_twins(lambda run: throttled(with_speed(run, 5)))),
    ):
        assert EQUAL_DIFFER not in set(study.study.ratios["why"])


def test_a_capacity_is_in_doubt_where_pairs_at_its_rates_differ_in_cpu_time() -> None:
    def dear(run: RunLine) -> RunLine:
        if run.record is None:
            return run
        workers = [
            with_(each, ticks__cpu_ns=[round(1.2 * (ns or 0)) for ns in each.ticks.cpu_ns or ()])
            for each in run.record.workers
        ]
        return with_(run, record__workers=workers)

    made = FakeServedStudy(
        aa_pairs=True,
        blocks=6,
        workers=(1,),
        window_s=20.0,
        options={"slo": ["p99<20ms"]},
        answers_per_s={("3.14t", "threads"): 700.0, ("3.14", "processes"): 500.0},
    )
    capacity = CAPACITY.format("p99<20ms")
    sure, doubted = (
        one(each.study.ratios, measure=capacity, question=OVER_PROCESSES)
        for each in (made, replace(made, change=of_twins(dear)))
    )
    assert (sure["word"], doubted["word"], doubted["why"]) == ("faster", "", EQUAL_DIFFER)


def test_words_about_two_studies_are_withheld_where_equal_cells_of_either_differ() -> None:
    then = replace(EXACT, noise=0.002)
    quicker = replace(then, change=lambda run: with_speed(run, 1.04))
    odd = replace(then, change=faster(1.08))
    for now, before, expected in (
        (quicker, then, {""}),
        (odd, then, {EQUAL_DIFFER}),
        (then, odd, {EQUAL_DIFFER}),
    ):
        found = across(now.study, before.study)
        assert set(where(found, measure=THROUGHPUT)["why"]) == expected
        assert set(where(found, measure=MEMORY)["why"]) == {""}


@pytest.mark.parametrize(
    ("arms", "models", "expected"),
    [
        (("3.14", "3.14t+gil", "3.14t"), ("threads",), ["3.14t threads"]),
        (("3.14t",), ("processes",), ["3.14t processes"]),
        (("3.14", "3.14t"), ("threads", "processes"), ["3.14t threads", "3.14 processes"]),
        (
            *(("3.14", "3.14+mimalloc"), ("threads", "forked")),
            ["3.14 threads", "3.14+mimalloc forked"],
        ),
    ],
)
def test_pairs_are_of_threads_without_the_gil_and_of_the_strongest_processes(
    arms: tuple[str, ...], models: tuple[str, ...], expected: list[str]
) -> None:
    """As far as those that threads are compared with are known before they are measured."""
    made = FakeStudy(arms=arms, models=models)
    twice = repeated(made.every_cell, made.region)
    assert [f"{each.arm} {each.model}" for each in twice] == expected
    assert {each.workers for each in twice} == {2}


def test_pairs_are_in_no_other_figure() -> None:
    """They would be ten times as fast, and in part invalid; no other figure changes."""
    made = FakeStudy(
        arms=("3.14", "3.14t"),
        workers=(1, 2),
        ticks=4,
        models=("threads", "processes"),
        aa_pairs=True,
        change=of_twins(lambda run: with_speed(run if run.block else throttled(run), 10)),
    )
    assert made.frame["twin"].sum() == 2 * made.blocks
    without = made.frame[~made.frame["twin"]].reset_index(drop=True)
    study, bare = made.study, Study(made.first_line, without)
    assert summary(study).equals(summary(bare))
    others = study.ratios[study.ratios["question"] != EQUAL_CELLS]
    figures = ["ratio", "low", "high", "n"]
    assert others[figures].to_numpy() == pytest.approx(bare.ratios[figures].to_numpy())


def test_an_invalid_duplicate_is_listed_as_one_and_one_that_never_ran_is_no_pair() -> None:
    (row,) = ISSUES.records(replace(EXACT, change=of_twins(throttled)).study)
    assert row["name"].endswith(" · A/A pair")
    assert (row["validity"], row["reasons"]) == ("invalid", "held back by a CPU quota")
    assert pairs(replace(EXACT, change=of_twins(crashed)).study).empty


# -------------------------------------------------------------------------------- published studies


def test_published_pairs_are_called_different_in_no_more_than_5_of_100() -> None:
    """The check of all words: how many pairs the rule calls different, of all studies together, and
    that without a margin it is no more than chance would give.
    """
    columns = ["question", "measure", "word", "ratio_low", "ratio_high"]
    files = PUBLISHED.glob("*/*/comparison.csv")
    tables = [pd.read_csv(file, usecols=columns) for file in files]
    pairs = where(pd.concat(tables), question=EQUAL_CELLS).dropna(subset="word")
    for measure in ("throughput", CPU, MEMORY, P99):
        known = where(pairs, measure=measure)
        assert len(known) > 20
        assert known["word"].map(is_proven).sum() <= 0.05 * len(known)
        apart = (known["ratio_low"] > 1) | (known["ratio_high"] < 1)
        # Chance gives more in fewer than one of a hundred sets of studies.
        assert apart.sum() <= scipy.stats.binom.ppf(0.99, len(known), 0.05)
