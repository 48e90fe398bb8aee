"""Estimates and ratios are right whatever is in a frame: runs in any order, lost, blank, twice."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scaling.analysis.statistics.intervals import medians
from scaling.analysis.tables.derived import EXTRA_WORKER
from scaling.analysis.tables.study import Study
from scaling.study.questions import THROUGHPUT
from tests.support.studies import FakeStudy, where

pytestmark = pytest.mark.slow

MADE = FakeStudy(
    arms=("3.14", "3.14t"), models=("threads", "processes"), blocks=7, aa_pairs=True, ticks=2
)
RATE = st.floats(1, 1e6) | st.sampled_from([np.nan, 0.0, 5.0])
PLACE = st.integers(0, len(MADE.runs) - 1)
PICKED = st.lists(st.tuples(PLACE, RATE, st.booleans()), min_size=1, max_size=60)
CELL = ["arm", "model", "workers", "twin"]
FIGURES = ("point", "low", "high", "n")


def study_of(frame: pd.DataFrame) -> Study:
    return Study(MADE.first_line, frame.reset_index(drop=True))


def frame_of(picked: list[tuple[int, float, bool]]) -> pd.DataFrame:
    """Runs of the study, any of them at any place, with another throughput and validity each."""
    frame = MADE.frame.iloc[[place for place, _, _ in picked]].reset_index(drop=True)
    rates = np.array([rate for _, rate, _ in picked], dtype=np.float64)
    valid = np.array([valid for _, _, valid in picked], dtype=bool)
    return frame.assign(throughput_per_s=rates, valid=valid)


@settings(max_examples=10)
@given(PICKED)
def test_every_estimate_is_the_median_of_its_runs_and_whatever_there_is_is_compared(
    picked: list[tuple[int, float, bool]],
) -> None:
    """A repeated run counts once, by its last valid attempt in a block."""
    study = study_of(frame_of(picked))
    assert len(study.cells) == len(study.runs.drop_duplicates(CELL))
    for place, about in zip(
        study.cells.index.tolist(), study.cells.to_dict("records"), strict=True
    ):
        cell = {name: about[name] for name in CELL}
        runs = where(study.runs, **cell)
        last = runs[runs["valid"]].drop_duplicates("block", keep="last")
        assert (about["runs"], about["left_out"]) == (len(last), (~runs["valid"]).sum())
        expected = medians(last[[THROUGHPUT]].to_numpy(np.float64))
        found = study.estimate(place, THROUGHPUT)
        known = [*np.ravel(expected)] if expected.n[0] else []
        assert [found[name] for name in FIGURES if found] == known
    ratios = study.ratios
    if len(ratios):
        assert (ratios["n"] <= MADE.blocks).all()
        assert (ratios.loc[ratios["n"] < 6, "word"] == "").all()
        assert ratios["ratio"].notna().all()


def test_slopes_are_those_of_a_straight_line() -> None:
    """Against numpy's polyfit, in any order; also with a run missing, or nothing but one N."""
    frame = of_threads()
    frame = pd.concat([frame[frame["workers"] == n] for n in (4, 1, 2)])
    lost = (frame["block"] == 1) & (frame["workers"] == 4)
    lost |= (frame["block"] == 2) & (frame["workers"] != 2)
    frame = frame[~lost].assign(region="cores")
    slopes = [
        np.polyfit(runs["workers"], runs["pss_bytes"] / 2**20, 1)[0]
        for _, runs in frame.groupby("block")
        if len(runs) > 1
    ]
    found, expected = slope(frame), medians(np.array(slopes)[:, np.newaxis])
    assert found["n"] == len(slopes)
    assert [found[name] for name in FIGURES[:3]] == pytest.approx(
        [expected.point[0], expected.low[0], expected.high[0]]
    )


def of_threads() -> pd.DataFrame:
    frame = MADE.frame
    return frame[~frame["twin"] & (frame["arm"] == "3.14t") & (frame["model"] == "threads")]


def slope(frame: pd.DataFrame) -> "pd.Series[float]":
    estimates = study_of(frame).estimates
    return estimates[estimates["measure"] == EXTRA_WORKER].iloc[0]
