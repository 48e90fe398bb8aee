"""A machine that changes while a study runs is reported, with an interval; noise is not."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from scaling.analysis.statistics.drift import OVER_BLOCK, OVER_TIME, drift
from scaling.report.view import notes
from tests.support.runs import with_speed
from tests.support.studies import FakeStudy

REPEATS = 20


@cache
def runs(blocks: int) -> pd.DataFrame:
    """Of 24 cells."""
    sizes = [{"payload_bytes": size} for size in range(1, 25)]
    return FakeStudy(variants={"echo": sizes}, workers=(1,), blocks=blocks, ticks=2).frame


def study(
    seed: int, *, blocks: int = 8, over_time: float = 0.0, over_block: float = 0.0
) -> pd.DataFrame:
    """A frame with 2 % of noise; the drifts are those of the logarithm, from end to end."""
    frame = runs(blocks)
    cell = frame.groupby("parameters", observed=True).ngroup()
    logs = np.log(1e3 * (1 + cell)) + 0.02 * np.random.default_rng(seed).normal(size=len(frame))
    # As far into the study as its block, so that `over_time` is from the first to the last.
    logs += over_time * frame["block"] / (blocks - 1)
    logs += over_block * frame["position"] / frame["position"].max()
    return frame.assign(throughput_per_s=np.exp(logs))


def covers(found: pd.DataFrame, over_time: float, over_block: float) -> "pd.Series[bool]":
    truth = pd.Series({OVER_TIME: np.expm1(over_time), OVER_BLOCK: np.expm1(over_block)})
    return (found["low"] <= truth) & (truth <= found["high"])


@pytest.mark.parametrize(("over_time", "over_block"), [(0.0, 0.0), (-0.08, 0.08)])
def test_intervals_cover_what_there_is(over_time: float, over_block: float) -> None:
    found = [
        drift(study(seed, over_time=over_time, over_block=over_block)) for seed in range(REPEATS)
    ]
    shares = np.mean([covers(each, over_time, over_block) for each in found], axis=0)
    assert (shares >= 0.75).all()  # 95 % of 20, less what chance takes: 3 standard errors and more
    middle = np.median([each.at[OVER_TIME, "point"] for each in found])
    assert middle == pytest.approx(np.expm1(over_time), abs=0.01)
    if over_time:
        assert list(found[1]["word"]) == ["slower", "faster"]
    else:
        assert np.mean([each["word"].isin(["faster", "slower"]).any() for each in found]) <= 0.1, (
            "noise alone is no drift"
        )


def test_below_six_blocks_all_is_inconclusive() -> None:
    found = drift(study(1, blocks=5, over_time=0.5))
    assert set(found["word"]) == {"inconclusive"}
    assert set(found["n"]) == {0}


MADE = FakeStudy(loops=("asyncio", "uvloop"), blocks=8)


def test_runs_that_were_made_again_are_no_part_of_it() -> None:
    """They are made at the end, in an order of their own."""
    first = study(1, over_time=-0.08)
    again = first[first["block"] == 0].assign(attempt=2, at=first["at"].max())
    again["throughput_per_s"] *= 2
    pd.testing.assert_frame_equal(drift(pd.concat([first, again])), drift(first))


def test_a_machine_that_slows_down_is_reported_in_a_note_and_cells_that_differ_are_not() -> None:
    assert notes.drift(MADE.study) == ""
    study = replace(MADE, change=lambda run: with_speed(run, 1 - 0.02 * run.block)).study
    text = notes.drift(study)
    assert text.startswith("The study drifted: runs became 1")
    assert " % slower (" in text
    assert "from its first block to its last" in text
    assert drift(study.runs).at[OVER_TIME, "point"] == pytest.approx(-0.14, abs=0.02)


def test_what_is_not_there_is_not_shown() -> None:
    frame = study(1)
    frame["at"] = pd.to_datetime(frame["at"], utc=True)
    for blank in (
        *(frame.iloc[:0], frame.iloc[:1], frame.assign(valid=False)),
        *(frame.assign(throughput_per_s=0.0), frame.assign(position=0)),
    ):
        assert not drift(blank)["word"].isin(["faster", "slower"]).any()
