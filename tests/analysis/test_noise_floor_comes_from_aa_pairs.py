"""The noise floor comes from A/A pairs, which are in no other figure; no margin depends on it."""

import math
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from scaling.analysis.between_studies import Across
from scaling.analysis.curves import curves
from scaling.analysis.results import StudyResults
from scaling.analysis.statistics.hypotheses import ERROR_RATE
from scaling.analysis.statistics.noise import COLUMNS, AAPair, NoiseFloor, noise_floor
from scaling.analysis.statistics.verdict import Margin, hypothesis, judge
from scaling.analysis.table.column import Noise
from scaling.analysis.table.groups import curve_cell
from scaling.base.errors import UsageError
from scaling.journal.record import Parameters, RunLine
from scaling.report.tables.export import summary
from scaling.study.plan.order import repeats_of
from scaling.study.questions import CPU, MEMORY, THROUGHPUT
from tests.support.published import FOLDERS, PUBLISHED, results_of
from tests.support.runs import Change, crashed, throttled, with_, with_speed
from tests.support.studies import FakeStudy, place

WITHHELD = (
    "No verdicts on throughput: equal cells (echo · asyncio · 3.14t · threads, N = 2) differ, "
    "faster, by 8 %"
)
MEASURES: tuple[Noise, ...] = ("throughput", "cpu_s_per_op", "PSS", "RSS")


EXACT = FakeStudy(aa_pairs=True, noise=0, tick_noise=0)


def floor_of(study: FakeStudy, change: Change | None = None) -> NoiseFloor:
    found = replace(study, change=change)
    return noise_floor(found.frame, found.first_line)


def of_twins(change: Change) -> Change:
    """The change in the second runs of A/A pairs alone."""
    return lambda run: change(run) if run.cell.twin else run


@pytest.mark.parametrize("blocks", [3, 8])
@pytest.mark.parametrize("factor", [1.05, 1 / 1.05])
def test_it_is_the_distance_of_aa_pairs_whichever_is_the_faster(factor: float, blocks: int) -> None:
    found = floor_of(replace(EXACT, blocks=blocks), of_twins(lambda run: with_speed(run, factor)))
    assert found.of("echo") == pytest.approx(0.05, rel=0.01)
    assert found.of("echo", "cpu_s_per_op") == pytest.approx(0.05, rel=0.01)
    assert found.margin().share == 0.02
    assert found.of("echo") == found.of("echo", "speedup")
    (pair,) = found.pairs
    assert pair.ratios["throughput"].point == pytest.approx(factor, rel=0.001)
    assert (pair.cell.workers, pair.cell.workload) == (2, "echo")


def test_the_margin_is_the_studys_whatever_the_noise() -> None:
    quiet, noisy = floor_of(EXACT), floor_of(FakeStudy(aa_pairs=True, noise=0.1))
    assert quiet.of("echo") < 0.001
    assert noisy.of("echo") > 0.03
    assert quiet.margin() == noisy.margin() == NoiseFloor().margin() == Margin(0.02)
    assert floor_of(FakeStudy(aa_pairs=True, margin=0.05)).margin() == Margin(0.05)
    assert math.isnan(NoiseFloor().of("echo"))


def test_a_workload_without_aa_pairs_has_the_largest_floor_of_the_study() -> None:
    factors = {"echo": 1.1, "compute": 1.04}
    found = floor_of(
        replace(EXACT, variants={"echo": [{}], "compute": [{}]}),
        of_twins(lambda run: with_speed(run, factors[run.cell.workload])),
    )
    assert [each.cell.workload for each in found.pairs] == ["echo", "compute"]
    assert found.of("compute") == pytest.approx(0.04, rel=0.01)
    assert found.of("scrape") == found.of("echo") == pytest.approx(0.1, rel=0.01)


def aa_pair(
    parameters: str, spread: float, p99_spread: float, workload: str = "serve", blocks: int = 8
) -> AAPair:
    cell = curve_cell(workload, parameters, "weak", "uvloop", "3.14t", "threads").but(workers=2)
    spreads = dict.fromkeys(MEASURES, spread) | {"latency_p99_s": p99_spread}
    asked = [hypothesis(np.full(blocks, 1 + each), 0.02) for each in spreads.values()]
    return AAPair(cell, dict(zip(spreads, judge(asked), strict=True)))


def test_a_ratio_stands_beside_the_pairs_most_like_it() -> None:
    closed = aa_pair('{"server": "asgi", "rate_per_s": 0}', 0.03, math.nan)
    low = aa_pair('{"server": "asgi", "rate_per_s": 500.0}', 0.001, 1.6)
    high = aa_pair('{"server": "asgi", "rate_per_s": 9000}', 0.002, 0.3)
    found = NoiseFloor((aa_pair("{}", 0.5, 2.0, "mix"), closed, low, high))

    def of(measure: str, parameters: str) -> float:
        wanted = Parameters.read(parameters) if parameters else None
        return round(found.of("serve", measure, wanted), 3)

    assert of("throughput", '{"rate_per_s": 0, "server": "asgi"}') == 0.03
    assert of("latency_p99_s", '{"server": "asgi", "rate_per_s": 500}') == 1.6
    assert of("latency_p99_s", '{"rate_per_s": 9000.0, "server": "asgi"}') == 0.3
    assert of("latency_p99_s", '{"server": "tcp", "rate_per_s": 9000}') == 1.6  # of an open loop
    assert of("latency_p99_s", '{"server": "asgi", "rate_per_s": 0}') == 1.6  # its own has none
    assert of("throughput", '{"server": "tcp", "rate_per_s": 700}') == 0.002
    assert of("throughput", '{"server": "tcp"}') == 0.03
    assert of("throughput", "") == 0.03
    assert round(found.of("echo", "latency_p99_s", {}), 3) == 2.0


def test_a_pair_of_few_blocks_can_only_raise_the_floor() -> None:
    asked = '{"rate_per_s": 9000}'

    def floor(*pairs: AAPair) -> float:
        found = {
            NoiseFloor(some).of("serve", "latency_p99_s", Parameters.read(asked))
            for some in permutations(pairs)
        }
        (one,) = found
        return one

    for other in ('{"rate_per_s": 500}', "serve"), ("{}", "echo"):
        for blocks, expected in [(1, 0.8), (3, 0.8), (4, 0.1)]:
            lucky = aa_pair(asked, 0.01, 0.1, blocks=blocks)
            assert floor(aa_pair(other[0], 0.03, 0.8, other[1]), lucky) == pytest.approx(expected)
        noisy = aa_pair(asked, 0.01, 0.8, blocks=3)
        assert floor(aa_pair(other[0], 0.03, 0.1, other[1]), noisy) == pytest.approx(0.8)
        assert floor(noisy) == pytest.approx(0.8)


def test_invalid_runs_are_in_no_figure() -> None:
    found = floor_of(
        EXACT, of_twins(lambda run: run if run.block else throttled(with_speed(run, 5)))
    )
    assert found.pairs[0].ratios["throughput"].n == 2
    assert found.of("echo") < 0.001
    assert floor_of(EXACT, of_twins(crashed)).pairs == ()


def test_memory_has_a_floor_of_its_own() -> None:
    def larger(run: RunLine) -> RunLine:
        return with_(run, memory__pss_bytes=round((run.memory.pss_bytes or 0) * 1.07))

    found = floor_of(FakeStudy(aa_pairs=True, noise=0), of_twins(larger))
    assert found.of("echo", "PSS") == found.of("echo", "memory") == pytest.approx(0.07, abs=0.02)
    assert found.of("echo", "RSS") < 0.03
    assert found.of("echo") < 0.03
    with pytest.raises(ValueError, match="no noise is known of 'lag'"):
        found.of("echo", "lag")


BOTH = ("threads", "processes")


@pytest.mark.parametrize(
    ("arms", "models", "pairs"),
    [
        (("3.14", "3.14t+gil", "3.14t"), ("threads",), [("3.14t", "threads")]),
        (("3.14t",), ("processes",), [("3.14t", "processes")]),
        (("3.14", "3.14t"), BOTH, [("3.14t", "threads"), ("3.14", "processes")]),
        (
            ("3.14", "3.14+mimalloc"),
            ("threads", "forked"),
            [("3.14", "threads"), ("3.14+mimalloc", "forked")],
        ),
        (
            ("3.14t", "3.14t+gil"),
            ("forked", *BOTH),
            [("3.14t", "threads"), ("3.14t+gil", "processes")],
        ),
        (("3.14t",), BOTH, [("3.14t", "threads"), ("3.14t", "processes")]),
    ],
)
def test_pairs_are_of_threads_without_the_gil_and_of_the_strongest_processes(
    arms: tuple[str, ...], models: tuple[str, ...], pairs: list[tuple[str, str]]
) -> None:
    """As far as those that threads are compared with are known before they are measured."""
    twins = repeats_of(FakeStudy(arms=arms, models=models).every_cell)
    assert [place(each) for each in twins] == [(*pair, 2) for pair in pairs]
    assert all(each.twin for each in twins)


def test_aa_pairs_are_in_no_other_figure() -> None:
    """They would be ten times as fast, and in part invalid; no other figure changes."""
    study = FakeStudy(
        arms=("3.14", "3.14t"),
        models=("threads", "processes"),
        aa_pairs=True,
        change=of_twins(lambda run: with_speed(run if run.block else throttled(run), 10)),
    )
    assert study.frame["twin"].sum() == 2 * study.blocks
    without = study.frame[~study.frame["twin"]]
    assert repr(curves(study.frame)) == repr(curves(without))
    bare = StudyResults(without, study.first_line)
    assert summary(study.results).equals(summary(bare))
    assert study.results.blocks.cells == bare.blocks.cells
    for cell in bare.blocks.cells:
        for measure in (THROUGHPUT, CPU, MEMORY):
            whole, alone = (each.blocks.series(cell, measure) for each in (study.results, bare))
            np.testing.assert_array_equal(whole.values, alone.values)


def test_an_invalid_duplicate_is_listed_as_one() -> None:
    (listed,) = FakeStudy(aa_pairs=True, change=of_twins(throttled)).results.run_issues
    assert listed.cell == "echo · weak · asyncio · 3.14t · threads · N = 2 · A/A pair"
    assert (listed.validity, listed.runs, listed.reasons) == ("invalid", 3, "throttled")


@pytest.mark.parametrize(
    ("spread", "said"), [(1.0, {"faster, by 4 %"}), (1.08, {"inconclusive, A/A pair differs"})]
)
def test_where_equal_cells_are_proven_to_differ_verdicts_are_withheld(
    spread: float, said: set[str]
) -> None:
    then = FakeStudy(aa_pairs=True, blocks=8, noise=0.002, tick_noise=0)
    now = replace(then, change=lambda run: with_speed(run, 1.04 * (spread if run.cell.twin else 1)))
    found = Across(then.results, now.results).ratios
    throughput = found.where(measure="throughput_per_s")
    assert {each.verdict.text.partition(":")[0] for each in throughput} == said
    memory = {each.verdict.word for each in found.where(measure="pss_bytes")}
    assert memory == {"same"}, "that equal cells do not differ in"
    assert any(each.startswith(WITHHELD) for each in now.results.caveats) == (spread > 1)


def test_two_studies_have_no_common_floor() -> None:
    one, other = FakeStudy(name="a"), FakeStudy(name="b")
    with pytest.raises(UsageError, match="2 studies"):
        noise_floor(pd.concat([one.frame, other.frame]), one.first_line)


RATIO = st.floats(0.5, 2) | st.sampled_from([math.nan, math.inf, 1.0])


@given(st.lists(st.lists(RATIO, max_size=9), max_size=3))
def test_any_aa_pairs_have_a_floor_or_none(ratios: list[list[float]]) -> None:
    """None, one, several pairs; no block, one, few, all alike, NaN. It reaches as far as the
    interval of a pair or, with few blocks, the range.
    """
    cell = curve_cell("echo", "{}", "weak", "asyncio", "3.14t", "threads").but(workers=2)
    estimates = judge([hypothesis(np.array(each, np.float64), 0.02) for each in ratios])
    pairs = tuple(AAPair(cell, dict.fromkeys(MEASURES, each)) for each in estimates)
    found = NoiseFloor(pairs)
    known = [max(each.high, 1 / each.low) - 1 for each in estimates if each.n]
    if known:
        assert found.of("echo") == max(known) >= 0
    else:
        assert math.isnan(found.of("echo"))
    assert bool(found.margin().doubt) == any(each.verdict.side for each in estimates)
    assert found.margin().share == 0.02


# The only published pairs whose study withholds its verdicts on the measure.
CALLED_DIFFERENT: dict[Noise, set[str]] = {
    "latency_p99_s": {"app · uvloop · 3.14t · threads, N = 2"},
    "latency_p50_s": {"app · asyncio · 3.14+mimalloc · processes, N = 2"},
}


# Named as a folder is, so that the process that reads them all is one (`conftest.py`).
@pytest.mark.parametrize("folder", [PUBLISHED], ids=["all"])
def test_published_pairs_are_unequal_no_more_often_than_chance(folder: Path) -> None:
    """The check of all verdicts: one p-value for each pair and measure, of all studies together,
    and how many pairs the rule calls different.
    """
    pairs = [pair for each in FOLDERS for pair in results_of(each).floor.pairs]
    for measure in COLUMNS:
        known = [p for pair in pairs if not np.isnan(p := pair.p_equal[measure])]
        assert len(known) > 20
        # Chance gives more in fewer than one of a hundred sets of studies.
        most = binom.ppf(0.99, len(known), ERROR_RATE)
        assert sum(p < ERROR_RATE for p in known) <= most, measure
        called = {pair.name for pair in pairs if pair.ratios[measure].verdict.side}
        # The rule corrects over the pairs of a study.
        assert len(called) <= binom.ppf(0.99, len(FOLDERS), ERROR_RATE), measure
        assert called == CALLED_DIFFERENT.get(measure, set())
