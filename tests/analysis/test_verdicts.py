"""What a verdict says, by which rule, for any ratios."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import false_discovery_control, ttest_1samp, ttest_ind

from scaling.analysis.arrays import Floats
from scaling.analysis.statistics.estimate import median
from scaling.analysis.statistics.verdict import (
    COST,
    LATENCY,
    RATE,
    Margin,
    hypothesis,
    judge,
    unpaired_hypothesis,
    wider,
)
from tests.support.verdicts import verdicts

SEED = 20261120
MARGIN = 0.02
LOW, HIGH = -math.log(1 + MARGIN), math.log(1 + MARGIN)


def test_p_values_are_those_of_scipy() -> None:
    rng = np.random.default_rng(SEED)
    for _ in range(20):
        ours, theirs = rng.lognormal(0.05, 0.02, 8), rng.lognormal(0, 0.03, 11)
        logs, others = np.log(ours), np.log(theirs)
        below = ttest_1samp(logs, LOW, alternative="greater").pvalue
        above = ttest_1samp(logs, HIGH, alternative="less").pvalue
        assert hypothesis(ours, MARGIN).p_same == pytest.approx(max(above, below), abs=1e-12)
        found = unpaired_hypothesis(ours, theirs, MARGIN)
        welch = ttest_ind(logs - HIGH, others, equal_var=False, alternative="greater").pvalue
        assert found.value.point > 1
        assert found.p_differs == pytest.approx(min(1, 2 * welch), abs=1e-12)


def test_holm_by_hand() -> None:
    """Holm's own rule on 0.01, 0.04, 0.03: times 3, 2, 1 in rising order, never falling."""
    found = judge(
        [
            hypothesis(np.full(8, 1.0), MARGIN)._replace(p_differs=p, p_same=p)
            for p in (0.01, 0.04, 0.03)
        ]
    )
    assert [each.verdict.p_same for each in found] == pytest.approx([0.03, 0.06, 0.06])
    assert [each.verdict.word for each in found] == ["same", "inconclusive", "inconclusive"]
    assert found[1].verdict.reason == "too noisy"
    assert "not significant after Holm correction (5 %)" in found[1].verdict.why


def test_without_a_margin_nothing_is_tested_to_be_the_same() -> None:
    """Bounds of a gate or a claim are no members of the family of what may be the same."""
    near = np.array([1.004, 0.997, 1.001, 1.003, 0.996, 1.0, 1.002, 0.999])
    (alone,) = verdicts([near], [MARGIN])
    first, *bounds = verdicts([near, *[near * 1.5, np.full(8, 1.5)] * 20], [MARGIN, *[0.0] * 40])
    assert first.p_same == alone.p_same
    assert first.p_differs >= alone.p_differs
    assert all(math.isnan(each.p_same) for each in bounds)
    assert {each.word for each in bounds} == {"faster"}


def test_states_are_counted_and_named() -> None:
    ratios = np.array([0.805, 0.8, 0.802, 1.02, 1.021, 1.018, 0.799, 1.019])
    (found,) = judge([hypothesis(ratios, MARGIN)])
    assert found.verdict.text == ("inconclusive, two states: 4 values near 0.801, 4 near 1.02")
    nearer = 1 + (ratios - ratios.mean()) / 20
    assert judge([hypothesis(nearer, MARGIN)])[0].verdict.word == "same", "less than the margin"


def test_an_outlier_is_no_state() -> None:
    ratios = np.array([1.2, 1.21, 1.2, 1.19, 1.2, 1.205, 1.195, 3.0])
    assert judge([hypothesis(ratios, MARGIN)])[0].verdict.word == "faster"


def test_two_studies_have_the_wider_margin_and_the_doubt_of_either() -> None:
    assert wider([Margin(0.02), Margin(0.05)]) == Margin(0.05)
    assert wider([Margin(0.05), Margin(0.02, "equal cells differ")]) == Margin(
        0.05, "equal cells differ"
    )
    (found,) = judge([hypothesis(np.linspace(1.4, 1.5, 8), Margin(0.02, "equal cells differ"))])
    assert found.verdict.text == "inconclusive, A/A pair differs: equal cells differ"
    assert found.verdict.p_differs < 0.05, "it is still one of its family"


def test_words_for_costs_are_others() -> None:
    up, down = np.linspace(1.4, 1.5, 8), np.linspace(0.6, 0.7, 8)
    rates = judge([hypothesis(each, MARGIN, RATE) for each in (up, down)])
    costs = judge([hypothesis(each, MARGIN, COST) for each in (up, down)])
    latencies = judge([hypothesis(each, MARGIN, LATENCY) for each in (up, down)])
    assert [each.verdict.word for each in rates] == ["faster", "slower"]
    assert [each.verdict.word for each in latencies] == ["slower", "faster"]
    assert [each.verdict.word for each in costs] == ["more", "less"]
    assert [each.verdict.side for each in (*rates, *costs, *latencies)] == [1, -1] * 3


def test_what_cannot_be_tested_is_no_member_of_the_family() -> None:
    steady = np.array([1.05, 1.06, 1.04, 1.05, 1.07, 1.05, 1.04, 1.06])
    alone, *_ = verdicts([steady], [MARGIN])
    first, few, blank, zero = verdicts(
        [steady, steady[:3], steady * np.nan, steady * 0], [0.02] * 4
    )
    assert first == alone
    assert [each.word for each in (few, blank, zero)] == ["inconclusive"] * 3
    assert all(math.isnan(p) for each in (few, blank) for p in (each.p_differs, each.p_same))
    assert zero.reason == "not above 0"


@pytest.mark.parametrize(
    ("value", "word"), [(1.0, "same"), (1.5, "faster"), (0.5, "slower"), (1.019, "same")]
)
def test_constant_ratios_have_no_variance_and_a_verdict(value: float, word: str) -> None:
    for blocks in (6, 8, 20):
        (found,) = verdicts([np.full(blocks, value)], [MARGIN])
        assert found.word == word
    (unpaired,) = judge([unpaired_hypothesis(np.full(8, 3 * value), np.full(7, 3.0), MARGIN)])
    assert unpaired.verdict.word == word


def test_a_mean_on_the_other_side_proves_nothing() -> None:
    """15 blocks a little faster, 5 far slower: the median's interval is above, the mean below."""
    split = np.concatenate([np.linspace(1.03, 1.04, 15), [0.9, 0.1, 0.03, 0.01, 0.003]])
    assert ttest_1samp(np.log(split), LOW, alternative="less").pvalue < 0.05
    (found,) = judge([hypothesis(split, MARGIN)])
    assert found.low > 1 + MARGIN
    assert np.log(split).mean() < LOW
    assert found.verdict.p_differs == 1
    assert (found.verdict.word, found.verdict.reason) == ("inconclusive", "too noisy")


def test_a_wide_margin_reaches_as_far_below_1_as_above() -> None:
    """Where a factor of two is no difference, half as fast is none; a tenth is."""
    wild = np.array([0.4, 0.6, 0.5, 0.55, 0.45, 0.5, 0.52, 0.48])
    for factor, word in {1.2: "same", 1.0: "inconclusive", 0.2: "slower"}.items():
        assert verdicts([factor * wild], [1.0])[0].word == word
    assert verdicts([1 / (0.2 * wild)], [1.0])[0].word == "faster"
    assert verdicts([0.2 * wild, 1 / (0.2 * wild)], [12.0] * 2)[0].word == "same"


@pytest.mark.parametrize("margin", [-0.01, math.nan])
def test_a_margin_is_a_number(margin: float) -> None:
    with pytest.raises(ValueError, match="a margin is a number of at least 0"):
        verdicts([np.ones(8)], [margin])


FIGURE = (
    st.floats(0.5, 2) | st.floats() | st.sampled_from([0.0, -0.0, 1.0, 1.02, math.nan, math.inf])
)
RATIOS = st.lists(FIGURE, max_size=12).map(np.array)
MARGINS = st.sampled_from([0.0, 0.02, 0.5, 1.0, 3.0])


@settings(max_examples=150)
@given(st.lists(RATIOS, max_size=4), MARGINS)
def test_any_ratios_have_a_verdict_that_their_interval_bears_out(
    table: list[Floats], margin: float
) -> None:
    """NaN, inf, zeros, negatives, none, one, all alike, in any order."""
    found = verdicts(table, [margin] * len(table))
    assert len(found) == len(table)
    for ratios, verdict in zip(table, found, strict=True):
        value = median(ratios, "×")
        assert (verdict.reason == "") == (verdict.word != "inconclusive")
        assert verdict.why
        if verdict.word == "inconclusive":
            continue
        assert value.coverage is not None
        low, high = 1 / (1 + margin), 1 + margin
        inside = low < value.low and value.high < high
        proven = {"faster": value.low > high, "slower": value.high < low, "same": inside}
        assert proven[verdict.word]
        assert (verdict.p_same if verdict.word == "same" else verdict.p_differs) < 0.05
    backwards = verdicts([ratios[::-1] for ratios in table], [margin] * len(table))
    assert [each.word for each in backwards] == [each.word for each in found]


@settings(max_examples=100)
@given(RATIOS, RATIOS, MARGINS)
def test_any_two_studies_can_be_asked(ours: Floats, theirs: Floats, margin: float) -> None:
    (found,) = judge([unpaired_hypothesis(ours, theirs, margin)])
    if found.verdict.word != "inconclusive":
        assert found.coverage is not None
        assert found.verdict.side == 0 or abs(math.log(found.point)) > math.log1p(margin)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=10))
def test_exploratory_p_values_are_those_of_benjamini_and_hochberg(p_values: list[float]) -> None:
    tested = hypothesis(np.full(8, 1.0), MARGIN, family="exploratory")
    found = judge([tested._replace(p_differs=p, p_same=p) for p in p_values])
    assert [each.verdict.p_same for each in found] == pytest.approx(
        false_discovery_control(p_values)
    )
    assert {each.verdict.family for each in found} == {"exploratory"}


def test_families_are_corrected_separately() -> None:
    """However many ratios a study explores, its primary hypotheses keep their p-values."""
    ratios = np.array([1.03, 1.05, 1.02, 1.06, 1.04, 1.03, 1.05, 1.04])
    (alone,) = judge([hypothesis(ratios, MARGIN)])
    explored = [hypothesis(ratios[::-1], MARGIN, family="exploratory")] * 60
    first, *others = judge([hypothesis(ratios, MARGIN), *explored])
    assert first == alone
    assert others[0].verdict.p_differs == pytest.approx(first.verdict.p_differs)


def steady(low: float, high: float, blocks: int = 8) -> Floats:
    """Ratios whose interval is about from `low` to `high`."""
    return np.linspace(low, high, blocks)


@pytest.mark.parametrize(
    ("ratios", "text"),
    [
        (steady(0.855, 0.915), "slower, by 9 to 14 %"),
        (steady(10.0, 12.1), "faster, 10.3 to 11.8 times"),
        (steady(1.65, 1.75), "faster, by 66 to 74 %"),
        (steady(0.997, 1.003), "same, within ±2 %"),
        (np.full(5, 7.0), "inconclusive, too few blocks: leaning faster, 7.00; 5 of 6 blocks"),
        (
            steady(0.8, 0.874, 2),
            "inconclusive, too few blocks: leaning slower, 0.837; 2 of 6 blocks",
        ),
        (
            steady(1.0, 1.01, 3),
            "inconclusive, too few blocks: no difference so far, 1.00; 3 of 6 blocks",
        ),
        (
            np.array([0.935, 0.94, 0.945, 0.95, 0.955, 0.98, 1.01, 1.012]),
            (
                "inconclusive, too noisy: between 6 % slower and 1 % faster; "
                "about 16 blocks would decide"
            ),
        ),
        (
            steady(0.958, 0.995),
            (
                "inconclusive, at the margin: 1 to 4 % slower, "
                "about the smallest difference that counts"
            ),
        ),
        (np.zeros(0), "inconclusive, no value"),
        (np.zeros(8), "inconclusive, not above 0"),
    ],
)
def test_a_verdict_says_by_how_much_or_what_is_known(ratios: Floats, text: str) -> None:
    (found,) = judge([hypothesis(ratios, MARGIN)])
    assert found.verdict.text == text
