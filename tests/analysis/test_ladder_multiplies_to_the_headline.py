"""The ladder takes the headline apart into factors that multiply to it again."""

from pathlib import Path

import pytest

from scaling.analysis.comparison.ladder import Ladder, ladders
from scaling.journal.record import RunLine
from tests.support.comparisons import compared_in
from tests.support.fabricate import Made, with_

RUNGS = ("3.14", "3.14+mimalloc", "3.14t+gil", "3.14t")
FACTORS = {"allocator": 2.1, "build": 0.9, "GIL": 1.9}
LEVELS = (1.0, 2.1, 2.1 * 0.9, 2.1 * 0.9 * 1.9)
SPEEDS = {
    (arm, "threads", n): n * level for arm, level in zip(RUNGS, LEVELS, strict=True) for n in (1, 2)
}
KNOWN = Made(arms=RUNGS, workers=(1, 2), noise=0, tick_noise=0, speeds=SPEEDS)


def factors(ladder: Ladder) -> dict[str, float]:
    return {step.name: step.point for step in ladder.steps}


def crashed(run: RunLine) -> RunLine:
    return with_(run, outcome="crashed", record=None, exit_code=1)


def test_known_factors_are_found_again(tmp_path: Path) -> None:
    one, two = ladders(compared_in(tmp_path, KNOWN))
    assert (one.workers, two.workers) == (1, 2)
    for ladder in (one, two):
        assert factors(ladder) == pytest.approx(FACTORS, rel=1e-3)
        assert ladder.headline.point == pytest.approx(LEVELS[-1], rel=1e-3)
        assert ladder.product == pytest.approx(ladder.headline.point, rel=1e-3)
        assert ladder.multiplies_out
        assert ladder.missing == []
        assert [each.arm for each in ladder.cells] == list(RUNGS)


@pytest.mark.parametrize("blocks", [3, 8])
def test_factors_multiply_exactly_in_each_block(tmp_path: Path, blocks: int) -> None:
    made = Made(arms=RUNGS, workers=(2,), blocks=blocks, noise=0.1)
    (ladder,) = ladders(compared_in(tmp_path, made))
    for block, whole in enumerate(ladder.headline.blocks):
        product = 1.0
        for step in ladder.steps:
            product *= step.blocks[block]
        assert product == pytest.approx(whole, rel=1e-12)
    assert (ladder.headline.coverage is not None) == (blocks >= 6)


@pytest.mark.parametrize(
    ("arms", "names", "missing"),
    [
        (("3.14", "3.14t+gil", "3.14t"), ["allocator and build", "GIL"], ["3.14+mimalloc"]),
        (("3.14", "3.14+mimalloc", "3.14t"), ["allocator", "build and GIL"], ["3.14t+gil"]),
        (("3.14", "3.14t"), ["allocator, build and GIL"], ["3.14+mimalloc", "3.14t+gil"]),
        (("3.14t+gil", "3.14t"), ["GIL"], []),
        (("3.14t", "3.14"), ["allocator, build and GIL"], ["3.14+mimalloc", "3.14t+gil"]),
    ],
)
def test_a_rung_that_is_missing_joins_its_steps(
    tmp_path: Path, arms: tuple[str, ...], names: list[str], missing: list[str]
) -> None:
    ladder, _ = ladders(compared_in(tmp_path, Made(arms=arms, workers=(1, 2))))
    assert [step.name for step in ladder.steps] == names
    assert ladder.missing == missing
    assert ladder.top.arm == "3.14t"


def test_a_rung_whose_runs_are_invalid_is_not_stepped_on(tmp_path: Path) -> None:
    def change(run: RunLine) -> RunLine:
        return crashed(run) if run.cell.arm == "3.14t+gil" else run

    (ladder,) = ladders(compared_in(tmp_path, Made(arms=RUNGS, workers=(2,)), change))
    assert [step.name for step in ladder.steps] == ["allocator", "build and GIL"]


def test_a_rung_that_mostly_failed_takes_no_block_from_the_others(tmp_path: Path) -> None:
    def change(run: RunLine) -> RunLine:
        return crashed(run) if run.cell.arm == "3.14+mimalloc" and run.block else run

    made = Made(arms=RUNGS, workers=(2,), blocks=8)
    (ladder,) = ladders(compared_in(tmp_path, made, change))
    assert ladder.missing == ["3.14+mimalloc"]
    assert ladder.headline.n == 8


def test_an_invalid_run_takes_its_block_out_of_all_factors(tmp_path: Path) -> None:
    """It would be ten times as fast; no factor may include it."""

    def change(run: RunLine) -> RunLine:
        if (run.block, run.cell.arm) != (1, "3.14t") or run.record is None:
            return run
        workers = [
            with_(worker, ticks__operations=[10 * count for count in worker.ticks.operations])
            for worker in run.record.workers
        ]
        return with_(run, record__workers=workers, disturbance__throttled_s=0.5)

    one, two = ladders(compared_in(tmp_path, KNOWN, change))
    for ladder in (one, two):
        assert {step.n for step in ladder.steps} == {ladder.headline.n} == {2}
        assert factors(ladder) == pytest.approx(FACTORS, rel=1e-3)


def test_medians_that_do_not_multiply_out_are_called_so(tmp_path: Path) -> None:
    """Arms that are slow in some blocks only: the headline stays, the factors' medians do not."""
    slow: dict[int, set[str]] = {0: {"3.14+mimalloc"}, 1: {"3.14+mimalloc", "3.14t+gil"}, 2: set()}

    def change(run: RunLine) -> RunLine:
        assert run.record is not None
        if run.cell.arm not in slow[run.block]:
            return run
        workers = [
            with_(worker, ticks__operations=[n // 3 for n in worker.ticks.operations])
            for worker in run.record.workers
        ]
        return with_(run, record__workers=workers)

    for ladder in ladders(compared_in(tmp_path, KNOWN, change)):
        assert ladder.headline.point == pytest.approx(LEVELS[-1], rel=1e-3)
        assert factors(ladder) == pytest.approx(FACTORS | {"allocator": 0.7}, rel=1e-3)
        assert not ladder.multiplies_out


def test_every_version_has_its_own_ladder(tmp_path: Path) -> None:
    arms = ("3.13", "3.13t", "3.14", "3.14t", "3.15", "3.14+nogc")
    found = ladders(compared_in(tmp_path, Made(arms=arms, workers=(2,))))
    assert [(ladder.bottom.arm, ladder.top.arm) for ladder in found] == [
        ("3.13", "3.13t"),
        ("3.14", "3.14t"),
    ]
