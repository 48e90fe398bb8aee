"""`--precision`: blocks are added until headline ratios are known that well, by widths alone."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

import msgspec
import pandas as pd
import pytest

from scaling.analysis.precision import headline_precision
from scaling.analysis.statistics.estimate import Estimate, median
from scaling.analysis.table.load import live_frame, load
from scaling.journal.record import RunLine
from scaling.run.session import is_complete
from scaling.run.time_left import Ratios, precision_rule
from scaling.study.definition import MAX_BLOCKS
from scaling.study.plan.cells import Plan
from scaling.study.plan.table import reservations
from tests.support.driving import Measured, believes, driven, enough_at, opened, small_plan
from tests.support.plans import asked
from tests.support.studies import FakeStudy


@pytest.fixture
def plan() -> Plan:
    return small_plan()


def spreads(*widths: float) -> Ratios:
    """Ratios of which each is known to ± its share of `widths`."""

    def ratios(runs: Collection[RunLine]) -> Mapping[str, Estimate]:
        return {
            f"ratio {number}": Estimate(2.0, 2 - 2 * width, 2 + 2 * width, "×", 8, "made", 0.95)
            for number, width in enumerate(widths)
        }

    return ratios


# --- the driver ---------------------------------------------------------------------------------


def test_whole_blocks_are_added_until_the_rule_has_enough(plan: Plan, tmp_path: Path) -> None:
    runs, told = driven(plan, tmp_path, rule=enough_at(5))
    with opened(tmp_path / "journal.jsonl") as written:
        assert is_complete(plan, written.runs, believes, enough_at(5))
        assert not is_complete(plan, written.runs, believes, enough_at(6))
    assert runs.done == plan.runs_of(5)
    assert told.added == [len(plan.every_cell)] * 3
    assert told.notes == ["5 of 5"]


def test_the_planned_blocks_come_whatever_the_rule_says(plan: Plan, tmp_path: Path) -> None:
    runs, told = driven(plan, tmp_path, rule=enough_at(1))
    assert runs.done == plan.runs
    assert told.added == []


# --- the rule -----------------------------------------------------------------------------------


def test_enough_is_when_every_ratio_is_that_narrow() -> None:
    rule = precision_rule(0.02, 40, spreads(0.01, 0.0199))
    assert rule([], 8) == (True, "8 blocks: 2 headline ratios known to ± 2 %, as asked for")


def test_one_ratio_that_is_wider_asks_for_one_more_block() -> None:
    rule = precision_rule(0.02, 40, spreads(0.01, 0.021, 0.0314))
    told = "8 blocks, one more: 2 of 3 ratios not known to ± 2 % (widest: ± 3.14 %)"
    assert rule([], 8) == (False, told)
    assert len(told) <= 80


def test_the_bound_ends_it_and_the_widest_ratio_is_named() -> None:
    rule = precision_rule(0.02, 40, spreads(0.01, 0.05))
    assert not rule([], 39).enough
    enough, text = rule([], 40)
    assert enough
    assert text == (
        "40 blocks, as many as there may be: 1 of 2 ratios not known to ± 2 %. "
        "Widest, ± 5 %: ratio 1"
    )


def test_a_range_is_no_interval_however_narrow_it_is() -> None:
    same = median([1.5] * 5, "×")
    assert (same.low, same.high, same.coverage) == (1.5, 1.5, None)
    rule = precision_rule(0.02, 40, lambda runs: {"ratio": same})
    assert rule([], 5) == (
        False, "5 blocks, one more: 1 of 1 ratio not known to ± 2 % (widest: no interval yet)"
    )  # fmt: skip


def test_an_interval_that_is_wider_than_its_ratio_still_is_one() -> None:
    _, text = precision_rule(0.02, 40, spreads(1.5))([], 8)
    assert text.endswith("(widest: ± 150 %)")


def test_a_study_without_ratios_adds_nothing() -> None:
    assert precision_rule(0.02, 40, spreads())([], 3).enough


def test_the_rule_looks_at_widths_and_not_at_what_comes_out() -> None:
    for point in (0.5, 1.0, 3.0):
        ratio = Estimate(point, point * 0.97, point * 1.03, "×", 8, "made", 0.95)
        assert ratio.relative_half_width == pytest.approx(0.03)
        assert not precision_rule(0.02, 40, lambda runs, r=ratio: {"": r})([], 8).enough  # type: ignore[misc]


# --- the ratios ---------------------------------------------------------------------------------


def test_headline_ratios_are_speed_ups_the_whole_ladder_and_threads_over_processes() -> None:
    made = FakeStudy(
        arms=("3.14", "3.14+mimalloc", "3.14t+gil", "3.14t"),
        models=("threads", "processes"),
        blocks=6,
        aa_pairs=True,
    )
    found = headline_precision(made.frame, made.first_line)
    names = {name.partition(": ")[2] for name in found}
    assert {name.partition(": ")[0] for name in found} == {"echo · weak sizing · asyncio"}
    speedups = {f"{arm} {model}, N = 2 over 1" for arm in made.arms for model in made.models}
    assert speedups | {
        "3.14t over 3.14, N = 2", "3.14t threads over 3.14+mimalloc processes, N = 2"
    } == names  # fmt: skip
    assert all(ratio.coverage and 0 < ratio.relative_half_width < 0.1 for ratio in found.values())


def test_they_are_of_the_frame_that_the_journal_will_give(tmp_path: Path) -> None:
    made = FakeStudy(arms=("3.14", "3.14t"), blocks=6, aa_pairs=True)
    whole = load(made.write(tmp_path))
    pd.testing.assert_frame_equal(live_frame(made.runs, made.first_line), whole)


def test_a_curve_of_one_n_has_no_headline() -> None:
    made = FakeStudy(workers=(1,), blocks=6)
    assert headline_precision(made.frame, made.first_line) == {}


def blocks_of(noise: float, plan: Plan, folder: Path) -> tuple[int, str]:
    """How many blocks a study to ± 2 % takes with this noise, and what it ends with."""
    head = FakeStudy().first_line
    rule = precision_rule(0.02, 14, lambda runs: headline_precision(live_frame(runs, head), head))
    folder.mkdir()
    runs, told = driven(plan, folder, Measured(noise), rule=rule)
    return 1 + max(run.block for run in runs.done), told.notes[-1]


@pytest.mark.slow
def test_a_noisier_machine_takes_more_blocks_and_the_end_says_what_was_reached(
    plan: Plan, tmp_path: Path
) -> None:
    quiet, said = blocks_of(0.005, plan, tmp_path / "quiet")
    assert quiet == 6  # with fewer there is no interval
    assert said == "6 blocks: 2 headline ratios known to ± 2 %, as asked for"
    usual, _ = blocks_of(0.018, plan, tmp_path / "usual")
    assert quiet < usual < 14
    most, said = blocks_of(0.2, plan, tmp_path / "noisy")
    assert most == 14
    assert said.startswith("14 blocks, as many as there may be: 2 of 2 ratios not known to ± 2 %")


# --- the study ----------------------------------------------------------------------------------


def test_the_rule_is_in_the_study_before_anything_is_measured(plan: Plan) -> None:
    study = asked(precision="2%")
    assert (study.document["precision"], study.document["max_blocks"]) == (0.02, MAX_BLOCKS)
    assert plan.study.document["precision"] is None


def test_the_plan_says_what_it_may_come_to(plan: Plan) -> None:
    assert list(reservations(plan)) == []
    study = msgspec.structs.replace(plan.study, precision=0.015, max_blocks=12)
    assert list(reservations(replace(plan, study=study))) == [
        "blocks are added until every headline ratio is within ± 1.5 %, up to 12 blocks"
    ]


@pytest.mark.parametrize(
    ("blocks", "most", "end"),
    [(3, 5, "up to 5 blocks: too few, an interval needs 6"), (8, 5, "up to 8 blocks")],
)
def test_a_bound_that_cannot_hold_is_an_error(plan: Plan, blocks: int, most: int, end: str) -> None:
    study = msgspec.structs.replace(plan.study, precision=0.02, max_blocks=most, blocks=blocks)
    (line,) = reservations(replace(plan, study=study))
    assert line.endswith(end)
