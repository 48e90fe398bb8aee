"""After the first block: the time left and the precision to come, in a line, refined quietly."""

import io
import math
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from scaling.analysis.statistics.estimate import medians
from scaling.analysis.statistics.forecast import PairScatter, expected_half_width
from scaling.analysis.table.latency import counted
from scaling.journal.record import Line, RunLine
from scaling.run.progress import LiveLine, PlainLines, block_in_words
from scaling.run.session import drive
from scaling.run.time_left import Left
from scaling.study.plan.cells import Plan
from scaling.study.plan.order import PlannedRun
from scaling.study.presets import PRESETS
from tests.analysis.test_resume_is_replay import Pretended, Told, believes, opened, plan
from tests.support.fabricate import Made, journal, run_line, with_
from tests.support.served import Served
from tests.support.served import journal as served_journal

__all__ = ["plan"]  # the fixture


class Measured(Pretended):
    """Measures without any time passing; every run took 4 s."""

    def __call__(self, run: PlannedRun, attempt: int) -> tuple[RunLine, bytes | None]:
        super().__call__(run, attempt)
        rng = random.Random(len(self.done))
        place = {"block": run.block, "position": run.position}
        return with_(run_line(Made(), run.cell, rng, **place), elapsed_s=4.0), None


def pair_scatter(runs: list[RunLine], invalid: Callable[[RunLine], object]) -> float:
    scatter = PairScatter([run.cell for run in runs])
    for run in runs:
        scatter.add(run, is_valid=not invalid(run))
    return scatter.value


def runs_of(made: Made) -> list[RunLine]:
    return [line for line in journal(made) if isinstance(line, RunLine)]


# --- the scatter of A/A pairs -------------------------------------------------------------------


@pytest.mark.parametrize("noise", [0.005, 0.02])
def test_aa_pairs_give_the_noise_of_a_ratio(noise: float) -> None:
    made = Made(
        variants={name: [{}] for name in ("echo", "compute", "stream")},
        workers=(1, 2),
        blocks=60,
        ticks=2,
        noise=noise,
        tick_noise=0,
        aa_pairs=True,
    )
    # Two runs a ratio; 180 ratios give the root mean square to 5 %, and it is never off by 25 %.
    assert pair_scatter(runs_of(made), believes) == pytest.approx(math.sqrt(2) * noise, rel=0.27)


def test_the_forecast_of_pairs_in_turn_is_of_ratios_in_turn_alone() -> None:
    runs = runs_of(Made(workers=(2,), blocks=2, ticks=1, noise=0.01, aa_pairs=True))
    for group, figure in ((None, ""), (0, "in-turn")):
        scatter = PairScatter([run.cell for run in runs])
        for run in runs:
            scatter.add(with_(run, group=group), is_valid=True)
        assert scatter.figure == figure
    assert "in-turn ratios about ±" in block_in_words(1, 8, Left(9.0, 1), 0.01, "in-turn")


def test_a_pair_for_gains_is_no_forecast_of_ratios_in_turn() -> None:
    """Its runs are in different groups."""
    runs = runs_of(Made(workers=(2,), blocks=2, ticks=1, noise=0.01, aa_pairs=True))
    apart, together = (PairScatter([run.cell for run in runs]) for _ in range(2))
    for run in runs:
        apart.add(with_(run, group=int(run.cell.twin)), is_valid=True)
        together.add(with_(run, group=0), is_valid=True)
    assert math.isnan(apart.value)
    assert together.value > 0


def test_scatter_is_the_root_mean_square_of_the_logarithms() -> None:
    runs = runs_of(Made(workers=(2,), blocks=2, ticks=1, noise=0, tick_noise=0, aa_pairs=True))

    def faster(run: RunLine, factor: float) -> RunLine:
        assert run.record is not None
        workers = [
            with_(each, ticks__operations=[0, round(1_000_000 * factor)])
            for each in run.record.workers
        ]
        return with_(run, record__workers=workers)

    factors = {(0, True): 1.1, (0, False): 1.0, (1, True): 1.0, (1, False): 1.2}
    changed = [faster(run, factors[run.block, run.cell.twin]) for run in runs]
    expected = math.sqrt((math.log(1.1) ** 2 + math.log(1.2) ** 2) / 2)
    assert pair_scatter(changed, believes) == pytest.approx(expected, rel=0.01)


def test_invalid_or_single_runs_give_no_noise() -> None:
    assert math.isnan(pair_scatter([], believes))
    assert math.isnan(pair_scatter(runs_of(Made()), believes))
    runs = runs_of(Made(workers=(2,), blocks=1, aa_pairs=True))
    assert pair_scatter(runs, believes) > 0
    assert math.isnan(pair_scatter(runs, lambda run: run.cell.twin))
    assert math.isnan(pair_scatter(runs, lambda run: not run.cell.twin))


def test_the_last_attempt_counts() -> None:
    first, second = runs_of(Made(workers=(2,), blocks=1, aa_pairs=True))
    failed = with_(first, record=None, outcome="crashed")
    again = with_(first, attempt=2)
    assert pair_scatter([failed, second, again], believes) == pair_scatter(
        [first, second], believes
    )


def test_in_an_open_loop_the_scatter_is_that_of_p99() -> None:
    """The schedule sets the throughput, which says nothing of the precision to come."""
    asked = Served(configurations=[("3.14", "processes")], workers=(2,), aa_pairs=True)
    runs = {
        rate: [run for run in journal_of(asked, rate) if isinstance(run, RunLine)]
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


def journal_of(asked: Served, rate: float) -> list[Line]:
    return served_journal(replace(asked, rates=(rate,)))


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


def test_a_study_with_intervals_reports_its_own_precision() -> None:
    text = block_in_words(1, 8, Left(560), scatter=0.02)
    width = 100 * expected_half_width(0.02, 8)
    assert text == (
        f"block 1 of 8 done · 9 min 20 s left · 8 blocks: ratios to about ±{width:.2g} %"
    )


def test_a_short_study_forecasts_what_the_default_would_reach() -> None:
    text = block_in_words(2, 3, Left(80), scatter=0.02)
    blocks = PRESETS["default"].blocks
    width = 100 * expected_half_width(0.02, blocks)
    assert text == (
        f"block 2 of 3 done · 1 min 20 s left · {blocks} blocks: ratios to about ±{width:.2g} %"
    )


def test_without_aa_pairs_only_the_time_is_shown() -> None:
    assert block_in_words(1, 8, Left(60), math.nan) == "block 1 of 8 done · 1 min 00 s left"


def test_the_figure_is_named_where_it_is_not_throughput() -> None:
    assert "8 blocks: P99 ratios about ±" in block_in_words(1, 8, Left(60), 0.02, "P99")


@pytest.mark.parametrize("figure", ["", "P99"])
@pytest.mark.parametrize("planned", [3, 20])
def test_it_fits_into_a_terminal(planned: int, figure: str) -> None:
    left = Left(59 * 60 + 59, 1)
    assert len(block_in_words(planned - 1, planned, left, 0.2, figure)) <= 80


def test_it_comes_after_every_block_but_the_last(plan: Plan, tmp_path: Path) -> None:
    told = Told()
    with opened(tmp_path / "journal.jsonl") as journal:
        drive(plan, journal, Measured(), believes, told)
    ((block, text),) = told.blocks  # of two
    assert block == 0
    in_a_block = len(plan.every_cell)
    assert text.startswith(f"block 1 of 2 done · {in_a_block * 4} s left · ")
    assert "±" in text


def test_it_stands_in_a_log_once_a_block(plan: Plan, tmp_path: Path) -> None:
    printed = io.StringIO()
    with opened(tmp_path / "journal.jsonl") as journal:
        drive(plan, journal, Measured(), believes, PlainLines(Console(file=printed, width=200)))
    lines = printed.getvalue().splitlines()
    count = len(plan.runs)
    assert lines[0].startswith(f"[{count // 2}/{count}] block 1 of 2 done")
    assert lines[1].startswith(f"[{count}/{count}] runs measured, the last one ")
    assert len(lines) == 2


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
