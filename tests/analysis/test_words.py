"""What a ratio is called: by which rule, of which measure, and how it is said."""

import math
from random import Random

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from scaling.analysis.arrays import Floats
from scaling.analysis.statistics.intervals import both_ends
from scaling.analysis.tables.ratios import FEW, STATES
from scaling.analysis.tables.words import (
    COST,
    FARTHEST,
    LATENCY,
    OPEN,
    RATE,
    RULES,
    SAME,
    SCALES,
    Scale,
    at_most_percent,
    blocks_to_decide,
    known_ends,
    said,
    scale_of,
    words,
)
from scaling.study.questions import CAPACITY, CPU, MEMORY, P99, THROUGHPUT
from tests.support.words import statements, worded


def ends(
    low_90: float, high_90: float, wider: float = 0.0, sure: float | None = None
) -> pd.DataFrame:
    """The ends of an interval of 90 %, of one of 95 % that is wider, and of `sure`."""
    low_95, high_95 = low_90 - wider, high_90 + wider
    high_sure = high_95 if sure is None else sure
    names = ("low_90", "high_90", "low_95", "high_95", "high_sure", "why")
    return pd.DataFrame([[low_90, high_90, low_95, high_95, high_sure, ""]], columns=list(names))


def word(row: pd.DataFrame, scale: Scale = RATE) -> str:
    return str(words(row, scale).iloc[0])


# -------------------------------------------------------------------------------------------- rules

# DESIGN.md's table, line by line: ends in per cent as logarithms, the word, what is said.
LINES = [
    (ends(-0.14, -0.09), "slower", "9 to 13 % slower"),
    (ends(-0.14, -0.02), "slower", "2 to 13 % slower"),
    (ends(-0.14, -0.03, sure=-0.015), "slower, size open", "slower, by at most 13.1 %"),
    (ends(0.03, 0.08), "faster", "3 to 8 % faster"),
    (ends(0.022, 0.08, wider=0.01), "faster, size open", "faster, by at most 8.4 %"),
    (ends(-0.019, 0.019), "same", "same, within 2 %"),
    (ends(-0.019, -0.001), "same", "same, within 2 %"),
    (ends(-0.034, -0.001), "slightly slower", "slower, by at most 3.4 %"),
    (ends(-0.034, -0.001, sure=0.001), "at most slightly slower",
     "at most 3.4 % slower, if at all"),
    (ends(-0.09, -0.001), "slower, size open", "slower, by at most 8.7 %"),
    (ends(0.001, 0.04), "slightly faster", "faster, by at most 4.1 %"),
    (ends(0.001, 0.08), "faster, size open", "faster, by at most 8.4 %"),
    (ends(0.001, 0.08, wider=0.01), "not slower", "not slower"),
    (ends(-0.034, 0.08), "at most slightly slower", "at most 3.4 % slower, if at all"),
    (ends(-0.07, 0.08), "at most moderately slower", "at most 6.8 % slower, if at all"),
    (ends(-0.13, 0.08), "open", "open: between 12 % slower and 8 % faster"),
    (ends(-0.14, -0.02, sure=0.01), "open", "open: 2 to 13 % slower, not proven"),
    (ends(0.99, 1.16), "faster", "2.69 to 3.19 times as fast"),
    (ends(-FARTHEST, -0.2), "slower", "at least 18 % slower"),
    (ends(0.2, FARTHEST), "faster", "at least 22 % faster"),
    (ends(-FARTHEST, -0.01), "slower, size open", "slower, by at most an unknown amount"),
]  # fmt: skip


@pytest.mark.parametrize(("row", "expected", "text"), LINES)
def test_the_first_rule_that_holds_gives_the_word(
    row: pd.DataFrame, expected: str, text: str
) -> None:
    assert word(row) == expected
    assert said(row.assign(word=expected).iloc[0].to_dict(), RATE) == text


def test_costs_mirror_the_rule_and_latencies_have_wider_tiers() -> None:
    mirrored = {"faster": "less", "slower": "more", "not slower": "not more"}
    for row, of_rate, _ in LINES:
        expected = mirrored.get(
            of_rate, of_rate.replace("slower", "more").replace("faster", "less")
        )
        assert word(row, COST) == expected
    assert word(ends(-0.09, 0.09), LATENCY) == SAME
    assert word(ends(-0.2, 0.3), LATENCY) == "at most slightly longer"
    assert word(ends(-0.4, 0.3), LATENCY) == "at most moderately longer"
    longer = ends(-0.4, -0.3).assign(word="longer").iloc[0].to_dict()
    assert said(longer, LATENCY) == "35 to 49 % longer"


def test_a_measure_has_the_scale_of_its_kind_with_words_of_a_closed_list() -> None:
    assert scale_of(THROUGHPUT) == scale_of(CAPACITY.format("p99<20ms")) == RATE
    assert scale_of(CPU) == scale_of(MEMORY) == COST
    assert scale_of(P99, 0.04) == LATENCY
    assert scale_of(THROUGHPUT, 0.04).tiers == (0.04, 0.05, 0.10)
    assert scale_of(THROUGHPUT, 0.2).tiers == (0.2, 0.2, 0.2)
    every = [each for scale in SCALES for each in scale.words]
    assert not any(character.isdigit() for each in every for character in each)
    assert len(RATE.words) == len({*RATE.words}) == 11
    assert {*statements()} | {OPEN} == {*RATE.words}


def test_the_bound_is_a_column_of_its_own_and_rounded_up() -> None:
    lows = np.array([math.log(0.966), math.log(1.02), -FARTHEST])
    assert at_most_percent(lows, RATE)[:2] == pytest.approx([3.4, -2.0])
    assert at_most_percent(-np.log([1.034, 0.98]), COST) == pytest.approx([3.4, -2.0])
    assert math.isnan(at_most_percent(lows, RATE)[2])
    for end, text in ((0.03005, "3.1 %"), (0.03, "3.0 %"), (0.030001, "3.1 %"), (1e-9, "0.1 %")):
        row = ends(math.log1p(-end), 0.01).assign(word="at most slightly slower").iloc[0].to_dict()
        assert said(row, RATE) == f"at most {text} slower, if at all"


def test_what_is_open_says_how_many_blocks_would_decide_unless_they_are_too_many() -> None:
    """At 8 % lost and a scatter of 10 % the word "slower" is 34 blocks away or more, at 1 % lost
    "at most 10 %" is; between both there is none to wait for.
    """
    medians, scatter = np.array([-0.08, -0.01, -0.05, 0.0]), np.array([0.1, 0.1, 0.5, 0.02])
    found = blocks_to_decide(medians, scatter, RATE)
    assert found[0] == math.ceil((1.96 + 0.8416) ** 2 * math.pi / 3 * 0.1**2 / 0.08**2)
    border = math.log1p(0.1) - 0.01
    few = (1.6449 + 0.8416) ** 2 * math.pi / 2 * 0.1**2 / border**2
    assert few > found[1] == 10  # from which on intervals are narrower
    assert math.isnan(found[2])
    assert found[3] == 6


# --------------------------------------------------------------------------------------- invariants

MANY = arrays.arrays(
    np.float64,
    st.tuples(st.integers(6, 14), st.integers(1, 6)),
    elements=st.floats(0.7, 1.4) | st.sampled_from([0.98, 1.0, 1.02]),
)
ABSOLUTE = {scale.named(rule) for scale in SCALES for rule in RULES if rule.side == 0} - {SAME}
MIRROR = {
    RATE.better: RATE.worse,
    "slightly faster": "slightly slower",
    "faster, size open": "slower, size open",
    SAME: SAME,
    "": "",
}
MIRROR |= {other: one for one, other in MIRROR.items()}


few_examples = settings(max_examples=20)  # each takes the path of a whole study


@few_examples
@given(MANY)
def test_an_inverted_ratio_has_the_mirrored_word_and_each_is_borne_out(ratios: Floats) -> None:
    one, other = worded(ratios), worded(np.ones_like(ratios), ratios)
    for forwards, backwards in zip(one["word"], other["word"], strict=True):
        if forwards in ABSOLUTE:  # which say only how much worse it can be
            assert backwards in ABSOLUTE
        else:
            assert backwards == MIRROR[forwards]
    for row in one[one["why"] == ""].to_dict("records"):
        low, high = statements().get(row["word"], (-math.inf, math.inf))
        assert low <= row["low_90"] <= row["high_90"] <= high
        assert row["low"] <= row["ratio"] <= row["high"]


@few_examples
@given(MANY, st.lists(st.integers(-8, 8), min_size=14, max_size=14), st.randoms())
def test_a_factor_of_a_block_and_the_order_of_blocks_change_nothing(
    ratios: Floats, powers: list[int], random: Random
) -> None:
    """What a block does to both cells, here a power of two, which rounds nothing."""
    order = random.sample(range(len(ratios)), len(ratios))
    block = 2.0 ** np.array(powers[: len(ratios)])[:, np.newaxis] * np.ones_like(ratios)
    columns = ["word", "ratio", "low", "high", "at_most_percent", "why"]
    one, other = worded(ratios), worded((ratios * block)[order], block[order])
    pd.testing.assert_frame_equal(one[columns], other[columns])


# ----------------------------------------------------------------------------------- without a word


def test_few_blocks_have_no_word_and_say_how_many_there_are() -> None:
    for blocks in (1, 5):
        (row,) = worded(np.full((blocks, 1), 7.0)).to_dict("records")
        assert (row["word"], row["why"]) == ("", f"{FEW} ({blocks} of 6)")
        assert said(row, RATE) == f"no word, {FEW} ({blocks} of 6)"
        assert math.isnan(row["at_most_percent"])
    for blocks in (6, 20):  # constant ratios have one
        found = worded(np.tile([1.0, 1.5, 0.5], (blocks, 1)))
        assert found["word"].tolist() == [SAME, "faster", "slower"]


def test_two_states_have_no_word_unless_they_are_nearer_than_the_margin() -> None:
    ratios = np.array([[0.805, 0.8, 0.802, 1.02, 1.021, 1.018, 0.799, 1.019]]).T
    nearer = 1 + (ratios - ratios.mean()) / 20
    outlier = np.array([[1.2, 1.21, 1.2, 1.19, 1.2, 1.205, 1.195, 3.0]]).T
    found = worded(np.hstack([ratios, nearer, outlier]))
    assert found["why"].tolist() == [STATES, "", ""]
    assert found["word"].tolist() == ["", SAME, "faster"]


def test_what_is_wrong_with_other_candidates_is_said_beside() -> None:
    """The best of the candidates is chosen by its median, and alone decides."""
    rng = np.random.default_rng(1)
    of, best = (np.exp(rng.normal(0, 0.005, (8, 1))) for _ in range(2))
    states = 0.5 + 0.2 * (np.arange(8) % 2)[:, np.newaxis] + rng.normal(0, 0.001, (8, 1))
    few = np.where(np.arange(8) < 3, 0.4, math.nan)[:, np.newaxis]
    (row,) = worded(of, states, best, few).to_dict("records")
    assert (row["word"], row["candidates"], row["over"]) == (SAME, 3, 2)
    assert row["beside"] == f"processes on 3.14: {STATES}; processes on 3.14: {FEW}"


def test_with_several_candidates_slower_rests_on_a_wider_interval() -> None:
    """From eight blocks on."""
    ratios = np.exp(np.array([[-0.03] * 7 + [-0.021, 0.01]]).T)
    assert worded(ratios, np.ones((9, 1)))["word"].tolist() == ["slower"]
    several = worded(ratios, np.ones((9, 1)), np.full((9, 1), 0.5))
    assert several["word"].tolist() == ["slightly slower"]
    few = worded(ratios[:7], np.ones((7, 1)), np.full((7, 1), 0.5))
    assert few["high_sure"].tolist() == few["high_95"].tolist()


@pytest.mark.parametrize(
    ("blocks", "unknown"), [(7, 1), (12, 2)], ids=["order statistics", "means of pairs"]
)
def test_an_end_between_a_value_and_none_is_not_known(blocks: int, unknown: int) -> None:
    values = np.linspace(0.1, 0.2, blocks)[:, np.newaxis]
    values[-unknown:] = FARTHEST
    low, high = both_ends(values, [0.9])
    assert 0.1 < known_ends(low)[0, 0] == low[0, 0] < 0.2 < high[0, 0] < FARTHEST
    assert known_ends(high)[0, 0] == FARTHEST
    assert known_ends(-high)[0, 0] == -FARTHEST
