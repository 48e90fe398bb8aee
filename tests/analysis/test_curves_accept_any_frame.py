"""Curves and ratios are right whatever is in a frame: runs in any order, lost, blank, twice."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scaling.analysis.blocks import blocks_of
from scaling.analysis.curves import curves
from scaling.analysis.results import StudyResults
from scaling.analysis.statistics.estimate import median
from scaling.analysis.statistics.noise import noise_floor
from tests.support.studies import FakeStudy

pytestmark = pytest.mark.slow

MADE = FakeStudy(
    arms=("3.14", "3.14t"), models=("threads", "processes"), blocks=7, aa_pairs=True, ticks=2
)


RATE = st.floats(1, 1e6) | st.sampled_from([np.nan, 0.0, 5.0])
PICKED = st.lists(st.tuples(st.integers(0, len(MADE.runs) - 1), RATE, st.booleans()), max_size=60)


def frame_of(picked: list[tuple[int, float, bool]]) -> pd.DataFrame:
    """Runs of the study, any of them at any place, with another throughput and validity each."""
    frame = MADE.frame.iloc[[place for place, _, _ in picked]].reset_index(drop=True)
    rates = np.array([rate for _, rate, _ in picked], dtype=np.float64)
    valid = np.array([valid for _, _, valid in picked], dtype=bool)
    return frame.assign(throughput_per_s=rates, valid=valid)


@settings(max_examples=12)
@given(PICKED)
def test_every_point_is_the_median_of_its_runs(picked: list[tuple[int, float, bool]]) -> None:
    frame = frame_of(picked)
    found = {
        f"{curve.key.arm} {curve.key.model} {point.workers}": point
        for curve in curves(frame)
        for point in curve.points
    }
    runs = frame[~frame["twin"]]
    names = [f"{run.arm} {run.model} {run.workers}" for run in runs.itertuples()]
    assert set(found) == set(names)
    for name, point in found.items():
        cell = runs[[each == name for each in names]]
        last = cell[cell["valid"]].drop_duplicates("block", keep="last")
        expected = median(last["throughput_per_s"], "operations/s")
        assert repr(point.throughput) == repr(expected)  # NaN is not equal to itself
        assert (point.runs, point.left_out) == (len(last), (~cell["valid"]).sum())
    for curve in curves(frame):
        assert curve.workers == sorted(set(curve.workers))


@settings(max_examples=10)
@given(PICKED)
def test_whatever_there_is_can_be_compared(picked: list[tuple[int, float, bool]]) -> None:
    frame, line = frame_of(picked), MADE.first_line
    floor = noise_floor(frame, line)
    assert floor.margin().share == 0.02
    found = blocks_of(frame, line)
    assert found.rows.shape == (len(found.blocks), len(found.cells))
    for compared in StudyResults(frame, line).compared:
        for ratio in compared.ratios:
            assert ratio.verdict.word == "inconclusive" or ratio.coverage is not None
            assert ratio.n <= MADE.blocks


@pytest.mark.parametrize("workers", [[1, 2, 4], [4, 1, 2], [2, 4]])
def test_slopes_are_those_of_a_straight_line(workers: list[int]) -> None:
    """Against numpy's polyfit, a block with a run missing and one with nothing but one N too."""
    frame = MADE.frame
    frame = frame[~frame["twin"] & (frame["arm"] == "3.14t") & (frame["model"] == "threads")]
    frame = pd.concat([frame[frame["workers"] == n] for n in workers])
    lost = (frame["block"] == 1) & (frame["workers"] == 4)
    lost |= (frame["block"] == 2) & (frame["workers"] != 2)
    frame = frame[~lost].assign(region="cores")
    slopes = [
        np.polyfit(runs["workers"], runs["pss_bytes"] / 2**20, 1)[0]
        for _, runs in frame.groupby("block")
        if len(runs) > 1
    ]
    (curve,) = curves(frame)
    assert curve.slope.n == len(slopes)
    assert curve.slope.point == pytest.approx(np.median(slopes))
    assert (curve.slope.low, curve.slope.high) == pytest.approx(
        (median(slopes, "").low, median(slopes, "").high)
    )


def test_a_slope_leaves_out_more_workers_than_cpus_unless_there_is_one_n_besides() -> None:
    frame = MADE.frame
    frame = frame[~frame["twin"] & (frame["arm"] == "3.14t") & (frame["model"] == "threads")]
    beyond = frame["region"] == "oversubscribed"
    assert set(frame.loc[beyond, "workers"]) == {4}
    (with_4,), (without,) = curves(frame), curves(frame[~beyond])
    assert (with_4.slope.point, with_4.slope.n) == (without.slope.point, without.slope.n)
    (one_and_4,) = curves(frame[frame["workers"] != 2])
    assert one_and_4.slope.n
    assert one_and_4.slope.point != with_4.slope.point
