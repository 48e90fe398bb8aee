"""The empty loop is subtracted from every row of `primitives`."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from scaling.journal.record import RunLine
from scaling.study.questions import THROUGHPUT
from tests.support.runs import crashed, throttled, with_speed
from tests.support.studies import FakeStudy

LOOP_PER_S = 1000.0  # of one worker; the loop scales with workers
# Calls by themselves, by primitive and N; the lock makes all threads wait for each other.
CALLS_PER_S = {"lock": {1: 500.0, 2: 500.0}, "json": {1: 100.0, 2: 190.0}}
ARMS = ("3.13t", "3.14t")


def planted(run: RunLine, calls: Mapping[str, Mapping[int, float]] = CALLS_PER_S) -> RunLine:
    """The run, whose every operation takes the loop's time and that of the call."""
    name, n = str(run.cell.parameters["primitive"]), run.cell.workers
    if name == "nothing":
        return run
    alone = calls[name][1] * n if run.cell.model == "processes" else calls[name][n]
    return with_speed(run, 1 / (1 / alone + 1 / (LOOP_PER_S * n)) / (LOOP_PER_S * n))


def made(**changes: object) -> FakeStudy:
    settings = {
        "variants": {"primitives": [{"primitive": name} for name in ("nothing", "lock", "json")]},
        "arms": ARMS,
        "models": ("threads", "processes"),
        "workers": (1, 2),
        "blocks": 6,
        "window_s": 20.0,  # operations are whole
        "noise": 0.0,
        "tick_noise": 0.0,
        "speeds": {(a, m, n): n for a in ARMS for m in ("threads", "processes") for n in (1, 2)},
    }
    return FakeStudy(**{"change": planted, **settings, **changes})  # type: ignore[arg-type]


def of(frame: pd.DataFrame, name: str, n: int) -> pd.DataFrame:
    """The runs of a primitive."""
    return frame[frame["parameters"].astype(str).str.contains(name) & (frame["workers"] == n)]


def test_a_block_without_the_loop_has_that_of_the_others_and_a_study_without_has_none() -> None:
    def failing(run: RunLine) -> RunLine:
        if run.block == 0 and run.cell.parameters["primitive"] == "nothing":
            return crashed(run)
        return planted(run)

    locks = of(made(change=failing).frame, "lock", 1)
    assert 0 in set(locks["block"])
    np.testing.assert_allclose(locks[THROUGHPUT], CALLS_PER_S["lock"][1], rtol=0.01)
    alone = of(made(variants={"primitives": [{"primitive": "lock"}]}).frame, "lock", 1)
    np.testing.assert_allclose(alone[THROUGHPUT], 1 / (1 / 500 + 1 / LOOP_PER_S), rtol=0.01)


def test_the_loop_is_that_of_the_same_block() -> None:
    """A machine that becomes slower takes as much from both."""
    slower = made(change=lambda run: with_speed(planted(run), 1 / (1 + run.block)))
    locks = of(slower.frame, "lock", 1)
    expected = CALLS_PER_S["lock"][1] / (1 + locks["block"])
    np.testing.assert_allclose(locks[THROUGHPUT], expected, rtol=0.01)


def test_a_row_that_is_no_slower_than_the_loop_in_one_block_has_no_values() -> None:
    def lucky(run: RunLine) -> RunLine:
        is_lock = run.cell.parameters["primitive"] == "lock"
        return run if is_lock and run.block == 0 and run.cell.workers == 2 else planted(run)

    frame = made(tick_noise=0.001, change=lucky).frame
    assert of(frame, "lock", 1)[THROUGHPUT].notna().all()
    # Where its luck was to be faster than the loop, all of its blocks are without a value.
    cells = of(frame, "lock", 2).groupby(["arm", "model"], observed=True)
    lacking = [cell[THROUGHPUT].isna() for _, cell in cells]
    assert all(each.all() or not each.any() for each in lacking)
    assert any(each.all() for each in lacking)


def test_an_invalid_run_that_is_no_slower_than_the_loop_takes_no_value_from_others() -> None:
    def disturbed(run: RunLine) -> RunLine:
        is_lock = run.cell.parameters["primitive"] == "lock"
        if not (is_lock and run.block == 0 and run.cell.workers == 2):
            return planted(run)
        return throttled(with_speed(run, 2))

    locks = of(made(change=disturbed).frame, "lock", 2)
    threads = locks[(locks["block"] > 0) & (locks["model"] == "threads")]
    np.testing.assert_allclose(threads[THROUGHPUT], CALLS_PER_S["lock"][2], rtol=0.01)
    assert locks.loc[locks["block"] == 0, THROUGHPUT].isna().all()
