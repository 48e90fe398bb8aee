"""The time left is what runs have really taken; the first block foretells the precision to come."""

import io
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from scaling.analysis.precision import PairScatter, expected_half_width
from scaling.analysis.statistics.estimate import medians
from scaling.analysis.table.latency import counted
from scaling.base.formats import duration
from scaling.journal.record import Cell, RunLine
from scaling.run.progress import LiveLine, block_in_words
from scaling.run.session import Done, InterruptedStudyError
from scaling.run.time_left import Left, TimeLeft
from scaling.study.plan.cells import EXPECTED_OVERHEAD_S, Plan
from scaling.study.plan.order import PlannedRun
from scaling.study.presets import PRESETS
from tests.support.driving import RUN_S, Measured, Pretended, believes, driven, small_plan
from tests.support.runs import with_, with_speed
from tests.support.served_studies import FakeServedStudy
from tests.support.studies import FakeStudy

INSIDE_S = 2.0


@pytest.fixture
def plan() -> Plan:
    return small_plan()


# --- the time left ------------------------------------------------------------------------------


def inside_s(cell: Cell) -> float | None:
    return None if cell.workload == "sleep" else INSIDE_S


def cell(workload: str, workers: int = 1, *, twin: bool = False) -> Cell:
    return Cell(
        workload=workload, loop="asyncio", arm="3.14t", model="threads", workers=workers, twin=twin
    )


def took(which: Cell, seconds: float | None) -> RunLine:
    return RunLine(cell=which, outcome="measured", block=0, position=0, elapsed_s=seconds)


def account(*to_come: Cell) -> TimeLeft:
    time = TimeLeft(inside_s, overhead_s=1.0)
    for each in to_come:
        time.expect(each)
    return time


def test_before_the_first_run_it_is_the_estimate_and_then_what_runs_cost_beside_windows() -> None:
    time = account(*[cell("echo")] * 10)
    assert time.left == Left(10 * (INSIDE_S + 1.0))
    time.learn(took(cell("echo"), 2.4))
    time.learn(took(cell("echo", 2), 2.6))
    assert time.left == pytest.approx(Left(10 * 2.5))
    time.done(cell("echo"))
    assert time.left == pytest.approx(Left(9 * 2.5))


def test_a_finite_run_takes_what_runs_of_its_cell_took_and_before_that_nobody_knows() -> None:
    time = account(*[cell("sleep")] * 2, *[cell("sleep", 2)] * 2)
    assert time.left == Left(0.0, unknown=4)
    time.learn(took(cell("sleep"), 40.0))
    time.learn(took(cell("sleep"), 60.0))
    assert time.left == Left(100.0, unknown=2)
    time.learn(took(cell("sleep", 2), 20.0))
    assert time.left == Left(140.0)
    twin = account(cell("sleep", twin=True))  # as long as its cell
    twin.learn(took(cell("sleep"), 40.0))
    assert twin.left == Left(40.0)


def test_a_run_of_unknown_length_teaches_nothing() -> None:
    time = account(cell("echo"), cell("sleep"))
    time.learn(took(cell("echo"), None))
    time.learn(took(cell("sleep"), None))
    assert time.left == Left(INSIDE_S + 1.0, unknown=1)


def test_it_counts_down_with_the_runs(plan: Plan, tmp_path: Path) -> None:
    _, told = driven(plan, tmp_path)
    runs = len(plan.runs)
    planned_s = plan.study.warmup_s + plan.study.window_s + EXPECTED_OVERHEAD_S
    assert told.left[0] == pytest.approx(Left(runs * planned_s))
    known_s = [left.seconds for left in told.left[1:]]  # after the first run
    assert known_s == pytest.approx([RUN_S * (runs - done) for done in range(1, runs)])
    assert not any(left.unknown for left in told.left)


def test_a_study_that_goes_on_has_learnt_already(plan: Plan, tmp_path: Path) -> None:
    class OneBlock(Pretended):
        def __call__(self, run: PlannedRun) -> Done:
            if run.block:
                raise KeyboardInterrupt
            return super().__call__(run)

    with pytest.raises(InterruptedStudyError):
        driven(plan, tmp_path, OneBlock())
    _, told = driven(plan, tmp_path)
    assert told.left[0] == pytest.approx(Left(RUN_S * len(plan.every_cell)))


@pytest.mark.parametrize(
    ("left", "words"),
    [
        (Left(200), "3 min 20 s left"),
        (Left(200, 3), "over 3 min 20 s left"),
        (Left(0, 3), "time left not known yet"),
        (Left(0), "0 s left"),
    ],
)
def test_what_is_not_known_is_said(left: Left, words: str) -> None:
    assert str(left) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-1, "0 s"), (59.4, "59 s"), (59.6, "1 min 00 s"), (200, "3 min 20 s"), (7500, "2 h 05 min")],
)
def test_durations_are_printed_in_fitting_units(seconds: float, words: str) -> None:
    assert duration(seconds) == words


# --- the scatter of A/A pairs -------------------------------------------------------------------


def pair_scatter(runs: list[RunLine], invalid: Callable[[RunLine], object]) -> float:
    scatter = PairScatter([run.cell for run in runs])
    for run in runs:
        scatter.add(run, is_valid=not invalid(run))
    return scatter.value


def test_aa_pairs_give_the_noise_of_a_ratio() -> None:
    noise = 0.02
    made = FakeStudy(
        variants={name: [{}] for name in ("echo", "compute", "stream")},
        workers=(1, 2),
        blocks=60,
        ticks=2,
        noise=noise,
        tick_noise=0,
        aa_pairs=True,
    )
    # Two runs a ratio; 180 ratios give the root mean square to 5 %, and it is never off by 25 %.
    assert pair_scatter(made.runs, believes) == pytest.approx(math.sqrt(2) * noise, rel=0.27)


def test_the_forecast_of_pairs_in_turn_is_of_ratios_in_turn_alone() -> None:
    runs = FakeStudy(workers=(2,), blocks=2, ticks=1, noise=0.01, aa_pairs=True).runs
    for group, figure in ((None, ""), (0, "in-turn")):
        scatter = PairScatter([run.cell for run in runs])
        for run in runs:
            scatter.add(with_(run, group=group), is_valid=True)
        assert scatter.figure == figure
    assert "in-turn ratios about ±" in block_in_words(1, 8, Left(9.0, 1), 0.01, "in-turn")


def test_a_pair_for_gains_is_no_forecast_of_ratios_in_turn() -> None:
    """Its runs are in different groups."""
    runs = FakeStudy(workers=(2,), blocks=2, ticks=1, noise=0.01, aa_pairs=True).runs
    apart, together = (PairScatter([run.cell for run in runs]) for _ in range(2))
    for run in runs:
        apart.add(with_(run, group=int(run.cell.twin)), is_valid=True)
        together.add(with_(run, group=0), is_valid=True)
    assert math.isnan(apart.value)
    assert together.value > 0


def test_scatter_is_the_root_mean_square_of_the_logarithms() -> None:
    runs = FakeStudy(workers=(2,), blocks=2, ticks=1, noise=0, tick_noise=0, aa_pairs=True).runs
    factors = {(0, True): 1.1, (0, False): 1.0, (1, True): 1.0, (1, False): 1.2}
    changed = [with_speed(run, factors[run.block, run.cell.twin]) for run in runs]
    expected = math.sqrt((math.log(1.1) ** 2 + math.log(1.2) ** 2) / 2)
    assert pair_scatter(changed, believes) == pytest.approx(expected, rel=0.01)


def test_invalid_or_single_runs_give_no_noise() -> None:
    assert math.isnan(pair_scatter([], believes))
    assert math.isnan(pair_scatter(FakeStudy().runs, believes))
    runs = FakeStudy(workers=(2,), blocks=1, aa_pairs=True).runs
    assert pair_scatter(runs, believes) > 0
    assert math.isnan(pair_scatter(runs, lambda run: run.cell.twin))
    assert math.isnan(pair_scatter(runs, lambda run: not run.cell.twin))


def test_the_last_attempt_counts() -> None:
    first, second = FakeStudy(workers=(2,), blocks=1, aa_pairs=True).runs
    failed = with_(first, record=None, outcome="crashed")
    again = with_(first, attempt=2)
    assert pair_scatter([failed, second, again], believes) == pair_scatter(
        [first, second], believes
    )


def test_in_an_open_loop_the_scatter_is_that_of_p99() -> None:
    """The schedule sets the throughput, which says nothing of the precision to come."""
    runs = {
        rate: FakeServedStudy(
            configurations=[("3.14", "processes")], workers=(2,), aa_pairs=True, rates=(rate,)
        ).runs
        for rate in (0.0, 800.0)
    }
    scatter = PairScatter([run.cell for each in runs.values() for run in each])
    for run in runs[0.0]:
        scatter.add(run, is_valid=True)
    assert scatter.figure == ""
    for run in runs[800.0]:
        scatter.add(run, is_valid=True)
    assert scatter.figure == "P99"
    ratios = [
        math.log(p99_s(second) / p99_s(first))
        for second in runs[800.0]
        for first in runs[800.0]
        if first.block == second.block and second.cell.twin and not first.cell.twin
    ]
    assert scatter.value == pytest.approx(np.sqrt(np.mean(np.square(ratios))))
    for run in runs[800.0]:
        scatter.add(with_(run, attempt=2, load=None), is_valid=False)  # the first one counts
    assert scatter.value == pytest.approx(np.sqrt(np.mean(np.square(ratios))))


def p99_s(run: RunLine) -> float:
    assert run.load
    return counted([run.load.latency, run.load.unfinished]).quantile_s(0.99)


# --- the width to come --------------------------------------------------------------------------


@pytest.mark.parametrize("blocks", [8, 20])
def test_what_is_foretold_is_what_comes(blocks: int) -> None:
    """The mean width of intervals over so many normal log ratios, from 4,000 studies."""
    scatter = 0.02
    ratios = np.exp(np.random.default_rng(1).normal(0, scatter, (blocks, 4_000)))
    widths = [(each.high - each.low) / 2 / each.point for each in medians(ratios, "×")]
    assert expected_half_width(scatter, blocks) == pytest.approx(np.mean(widths), rel=0.06)


def test_below_six_blocks_there_is_no_interval_to_foretell() -> None:
    assert expected_half_width(0.02, 5) == math.inf
    assert expected_half_width(0.02, 6) < 0.05
    assert math.isnan(expected_half_width(math.nan, 8))


@given(st.floats(1e-5, 0.3), st.integers(6, 60))
def test_it_grows_with_the_noise_and_shrinks_with_the_blocks(scatter: float, blocks: int) -> None:
    width = expected_half_width(scatter, blocks)
    assert 0 < width < expected_half_width(2 * scatter, blocks)
    assert expected_half_width(scatter, 4 * blocks) < width


# --- the line -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("blocks", "foretold"), [(8, 8), (3, PRESETS["default"].blocks)], ids=["its own", "default"]
)
def test_a_study_foretells_its_precision_or_that_of_the_default(blocks: int, foretold: int) -> None:
    text = block_in_words(1, blocks, Left(560), scatter=0.02)
    width = 100 * expected_half_width(0.02, foretold)
    assert text == (
        f"block 1 of {blocks} done · 9 min 20 s left · "
        f"{foretold} blocks: ratios to about ±{width:.2g} %"
    )


def test_without_aa_pairs_only_the_time_is_shown() -> None:
    assert block_in_words(1, 8, Left(60), math.nan) == "block 1 of 8 done · 1 min 00 s left"


@pytest.mark.parametrize("figure", ["", "P99"])
@pytest.mark.parametrize("planned", [3, 20])
def test_it_fits_into_a_terminal(planned: int, figure: str) -> None:
    text = block_in_words(planned - 1, planned, Left(59 * 60 + 59, 1), 0.2, figure)
    assert len(text) <= 80
    assert (" P99 ratios about ±" in text) == (figure == "P99")


def test_it_comes_after_every_block_but_the_last(plan: Plan, tmp_path: Path) -> None:
    _, told = driven(plan, tmp_path, Measured())
    ((block, text),) = told.blocks  # of two
    assert block == 0
    in_a_block = len(plan.every_cell)
    assert text.startswith(f"block 1 of 2 done · {in_a_block * RUN_S:.0f} s left · ")
    assert "±" in text


def test_on_a_terminal_the_first_stays_and_the_others_are_there_for_a_run() -> None:
    def shown(block: int) -> tuple[str, str]:
        """What is printed at the end of a block, and while the next run is under way."""
        printed = io.StringIO()
        line = LiveLine(Console(file=printed, force_terminal=True, width=100))
        line.begin(10, 0)
        told = []
        steps: tuple[Callable[[], None], ...] = (
            lambda: line.block_done(block, "so much is known"),
            lambda: line.running("echo", Left(9)),
            lambda: line.finished("echo", "9/s", Left(8)),
            lambda: line.running("compute", Left(8)),
        )
        for step in steps:
            printed.truncate(printed.seek(0))
            step()
            told.append(printed.getvalue())
        line.end()
        assert "so much is known" not in told[3]
        return told[0], told[1]

    at_end, meanwhile = shown(0)
    assert "so much is known" in at_end
    assert "echo" in meanwhile
    at_end, meanwhile = shown(1)
    assert at_end == ""
    assert "so much is known" in meanwhile
