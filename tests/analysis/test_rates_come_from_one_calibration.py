"""Rates named "grid" or "50%" become numbers once, in the first block, and stay what they are."""

import contextlib
import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaling.base.console import new_console
from scaling.base.errors import UsageError
from scaling.journal.record import (
    Calibration,
    Cell,
    Load,
    RunLine,
)
from scaling.run.measure import measure
from scaling.run.peaks import Peaks
from scaling.run.prepare import Prepared, generators_of
from scaling.run.progress import Display, PlainLines
from scaling.run.remaining_work import read_runs, work_in
from scaling.run.session import Done, InterruptedStudyError
from scaling.run.time_left import Left
from scaling.study.load import ROUNDS, STEP, calibrations_for, grid, load_asked
from scaling.study.plan.cells import SERVED_OVERHEAD_S, Plan
from scaling.study.plan.order import PlannedRun
from scaling.study.plan.table import cost_of, one_line, plan_rows, reservations
from scaling.study.presets import GRID_RATES
from tests.support import driving, plans
from tests.support.descriptions import SERVE, description
from tests.support.driving import Told, prepared
from tests.support.studies import place

STUDY = """
arms = ["3.14", "3.14+mimalloc", "3.14t"]
models = ["threads", "processes"]
workers = [1, 2, 4]
controls = false
aa_pairs = true
blocks = 2
[[workloads]]
name = "serve"
parameters = { rate_per_s = "grid" }
"""
PEAKS = {"3.14": 5_000.0, "3.14+mimalloc": 5_210.0, "3.14t": 9_000.0}


def planned(text: str = STUDY, **options: Any) -> Plan:
    return plans.planned(text, workloads={"serve": SERVE}, **options)


def calibrated(
    asked: Plan, run: Callable[[PlannedRun], Done], told: Told | None = None
) -> list[Calibration]:
    """What the runs of a plan's calibrations give."""
    peaks = Peaks(asked, run, (told or Told()).note)
    for _, do, _ in peaks.steps:
        do()
    return peaks.rates().calibrations


class Pretended(driving.Pretended):
    """Measures what `PEAKS` says in a closed loop, and nothing at a rate; stops like Ctrl-C."""

    def __init__(
        self,
        plan: Plan,
        factor: float = 1.0,
        stop_at: int | None = None,
        seen: Load | None = None,
    ) -> None:
        super().__init__(stop_at)
        self._seen = seen or Load()
        self.plan = plan
        self.calibrated: list[Cell] = []
        self.measured: list[PlannedRun] = []
        self._factor = factor

    def line(self, run: PlannedRun) -> RunLine:
        cell = run.cell
        asked = load_asked(cell.parameters, connections=1, seed=1)
        if asked.rate_per_s is not None:
            self.measured.append(run)
            return super().line(run)
        self.calibrated.append(cell)
        noise = (0.98, 1.0, 1.5)[run.block // 2 % ROUNDS]  # one run in three is far off
        achieved_per_s = PEAKS[cell.arm] * self._factor * noise
        load = msgspec.structs.replace(self._seen, achieved_per_s=achieved_per_s)
        return RunLine(cell=cell, outcome="measured", block=0, position=0, load=load)


@given(peak=st.floats(10, 1e6), points=st.integers(1, 12))
def test_the_grid_is_one_for_all_peaks_and_ends_just_beyond_them(peak: float, points: int) -> None:
    rates = grid(peak, points)
    assert len(set(rates)) == points
    assert rates == sorted(rates)
    for rate in rates:  # powers of the step, to three digits
        power = math.log(rate, STEP)
        assert math.isclose(rate, STEP ** round(power), rel_tol=0.006)
        assert float(f"{rate:.3g}") == rate
    if points > 1:
        assert 0.994 * peak <= rates[-1] <= 1.26 * peak
        assert rates[0] <= 0.27 * peak
    assert set(grid(peak, 4)) <= set(grid(peak, GRID_RATES))


def test_the_plan_counts_rates_and_calibration_without_measuring() -> None:
    made = planned()
    cost = cost_of(made)
    for label, *_, counts, _, _ in plan_rows(made):
        assert (label, counts) == ("serve (rate_per_s=grid of 8)", "1, 2, 4")
    assert len(made.cells) == 3 * 2 * 3 * GRID_RATES
    assert cost.calibrations == 2 * ROUNDS
    assert cost.total_s == pytest.approx(
        cost.calibration_s + cost.runs * (SERVED_OVERHEAD_S + 0.3 + 1.0), rel=0.01
    )
    (said,) = reservations(made)
    assert said.startswith("serve: 8 rates from 1 calibration in a closed loop in the first block")
    assert "6 runs, about 16 s" in said
    assert "processes on 3.14+mimalloc, N = 2" in said
    assert "3.14t" not in said
    assert "in 2 blocks" in one_line(made)
    for rate in ("0.0", "[100, 2000]"):  # numbers and closed loops need none
        made = planned(STUDY.replace('"grid"', rate))
        assert (made.calibrations, list(reservations(made))) == ([], [])
        assert Peaks(made, Pretended(made), Told().note).steps == []


def test_the_peak_is_the_median_of_the_better_baseline_and_rates_are_one_for_all() -> None:
    asked, told = planned(), Told()
    pretended = Pretended(asked)
    (made,) = calibrated(asked, pretended, told)
    tried = [place(cell) for cell in pretended.calibrated]
    assert tried == [("3.14", "processes", 2), ("3.14+mimalloc", "processes", 2)] * ROUNDS
    assert made.baseline.arm == "3.14+mimalloc"
    assert made.peak_per_s == 5_210
    assert max(made.runs_per_s) == pytest.approx(1.5 * 5_210)
    plan = asked.at_rates([made])
    had: dict[object, list[object]] = {}
    for cell in plan.cells:
        had.setdefault(place(cell), []).append(cell.parameters["rate_per_s"])
    assert list(had.values()) == [grid(5_210, GRID_RATES)] * 18
    assert (plan.asked, plan.calibrations) == (len(plan.cells), [])
    (said,) = told.notes
    assert "3.14+mimalloc · 2 processes: 5,210 requests/s (5,110–7,820); rates: " in said


@pytest.mark.parametrize(
    ("asked", "rates", "expected"),
    [
        ('["50%", 1000, " 12.5 % "]', None, [2_600.0, 1_000.0, 651.0]),
        ('"grid"', 4, grid(5_210, 4)),  # fewer are spread over the same range
    ],
)
def test_a_share_is_of_the_peak_and_mixes_with_numbers(
    asked: str, rates: int | None, expected: list[float]
) -> None:
    made = planned(STUDY.replace('"grid"', asked), rates=rates)
    plan = made.at_rates(calibrated(made, Pretended(made)))
    assert list(dict.fromkeys(cell.parameters["rate_per_s"] for cell in plan.cells)) == expected


def test_each_server_has_its_own_and_what_is_compared_at_one_rate_shares_the_heaviest() -> None:
    parameters = '{ rate_per_s = "50%", server = ["tcp", "asgi"], garbage_per_request = [0, 20], '
    parameters += 'accept = ["port", "shared"], connections = [4, 64] }'
    asked = planned(STUDY.replace('{ rate_per_s = "grid" }', parameters))
    one, other = asked.calibrations
    assert (one.parameters["server"], other.parameters["server"]) == ("tcp", "asgi")
    for each in (one, other):
        for cell in each.candidates:
            heaviest = {"garbage_per_request": 20, "accept": "port", "connections": 64}
            assert heaviest.items() <= cell.parameters.items()
            assert cell.parameters["rate_per_s"] == 0
    made = calibrated(asked, Pretended(asked))
    assert len(asked.at_rates(made).cells) == len(asked.cells) == 18 * 2 * 2 * 2 * 2
    first = asked.at_rates(made[:1]).calibrations
    assert [each.parameters["server"] for each in first] == ["asgi"]


@pytest.mark.parametrize(
    ("arms", "models", "workers", "tried"),
    [
        ("3.14t", "threads,processes", "1,2,4", [("3.14t", "processes", 2)]),
        ("3.14", "threads,processes,forked", "1,2,4",
         [("3.14", "processes", 2), ("3.14", "forked", 2)]),
        ("3.14,3.14t", "threads", "1,2,4", [("3.14", "threads", 2), ("3.14t", "threads", 2)]),
        ("3.14", "processes", "4,8", [("3.14", "processes", 4)]),
    ],
)  # fmt: skip
def test_without_the_baseline_the_best_there_is_takes_its_place(
    arms: str, models: str, workers: str, tried: list[tuple[str, str, int]]
) -> None:
    (needed,) = planned(arm=(arms,), model=(models,), workers=(workers,)).calibrations
    assert [place(cell) for cell in needed.candidates] == tried


@pytest.mark.parametrize("rate", ['"fast"', '"-5%"', '"0%"', '"grid 3 of 8"', "0.001", "2000000.0"])
def test_any_other_text_or_rate_is_bad_usage(rate: str) -> None:
    with pytest.raises(UsageError, match="rate_per_s: expected a number"):
        planned(STUDY.replace('"grid"', rate))
    of_flag = rate.strip('"')
    with pytest.raises(UsageError, match="rate_per_s: expected a number"):
        planned(set=(f"serve.rate_per_s={of_flag}",))


def test_a_rate_is_never_measured_as_a_closed_loop_before_it_is_known() -> None:
    with pytest.raises(ValueError, match="has not been calibrated"):
        load_asked({"rate_per_s": "50%"}, connections=1, seed=1)


@pytest.fixture
def ready(monkeypatch: pytest.MonkeyPatch) -> Prepared:
    monkeypatch.setattr("scaling.run.measure.quiet_on", lambda _: lambda: None)
    monkeypatch.setattr("scaling.run.session.RETRIES", 0)  # what is pretended looks crashed
    return prepared(planned(rates=2), description(workloads={"serve": SERVE}))


def measured(
    ready: Prepared, output: Path, monkeypatch: pytest.MonkeyPatch, **pretended: Any
) -> list[Pretended]:
    """What the executors did until the study was complete or stopped."""
    made: list[Pretended] = []

    def executor(plan: Plan, *_: object) -> Pretended:
        made.append(Pretended(plan, **pretended))
        return made[-1]

    monkeypatch.setattr("scaling.run.measure.Executor", executor)
    display: Display = PlainLines(new_console(stderr=True))
    with contextlib.suppress(InterruptedStudyError):
        assert measure(ready, output, display) == output
    return made


@pytest.mark.slow
def test_a_study_keeps_its_rates_and_is_calibrated_once(
    ready: Prepared,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Stopped during its calibration it calibrates again; resumed later, it goes on."""
    out = tmp_path / "study"
    stopped, _ = measured(ready, out, monkeypatch, stop_at=4)
    assert (len(stopped.calibrated), stopped.measured) == (4, [])
    assert read_runs(out, pytest.fail).head.calibrations == []
    before = measured(ready, out, monkeypatch, stop_at=7)
    assert sum(len(each.calibrated) for each in before) == 6
    assert sum(len(each.measured) for each in before) == 7
    begun = read_runs(out, pytest.fail).head
    (calibration,) = begun.calibrations
    names = ["grid 1 of 2", "grid 2 of 2"]
    assert calibration.rates == dict(zip(names, grid(5_210, 2), strict=True))
    # The peak would be another now: the machine has become twice as fast.
    idle, after = measured(ready, out, monkeypatch, factor=2.0)
    assert "resuming" in capsys.readouterr().err
    assert idle.calibrated == after.calibrated == []
    rates = {run.cell.parameters["rate_per_s"] for run in after.measured}
    assert rates <= {0.0, *calibration.rates.values()}
    found = read_runs(out, pytest.fail)
    assert found.head == begun
    work = work_in(found, ready, same=False)
    done = work.total("valid") + work.total("lost")
    assert (done, work.total("to_do")) == (len(ready.plan.runs), 0)


def test_a_resumed_study_keeps_its_generator_processes(
    ready: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs with another number would be invalid: 2 cores would give one process."""
    given: list[int] = []

    class Served(Pretended):
        def line(self, run: PlannedRun) -> RunLine:
            line = super().line(run)
            load = msgspec.structs.replace(line.load or Load(), processes=3)
            return msgspec.structs.replace(line, load=load)

    def executor(plan: Plan, *others: Any) -> Pretended:
        given.append(others[-1].processes)
        return Served(plan, stop_at=7 if len(given) < 4 else None)

    monkeypatch.setattr("scaling.run.measure.Executor", executor)
    with pytest.raises(InterruptedStudyError):
        measure(ready, tmp_path / "study", Told())
    measure(ready, tmp_path / "study", Told())
    assert given == [1, 1, 1, 3, 3]


def test_a_generator_has_the_gil_on_whatever_build(ready: Prepared) -> None:
    """So studies with and without an arm that has it are loaded alike."""
    free = {"3.14t": ready.arms["3.14t"]}
    assert generators_of(replace(ready, arms=free), 1).environment["PYTHON_GIL"] == "1"


def test_calibrations_are_spread_between_the_first_runs_whose_rates_are_known(
    ready: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a row they would all be of the same seconds of the machine."""
    done: list[str] = []
    left_s: list[float] = []

    class Watched(Told):
        def running(self, run: str, left: Left) -> None:
            left_s.append(left.seconds)
            done.append("calibration" if run.startswith("calibration: ") else "run")

    class Closed(Pretended):
        def line(self, run: PlannedRun) -> RunLine:
            if run.cell.parameters["rate_per_s"]:
                done.append("rated")
            return super().line(run)

    monkeypatch.setattr("scaling.run.measure.Executor", lambda plan, *_: Closed(plan))
    plan = planned(STUDY.replace('"grid"', '[0, "50%"]'))
    measure(replace(ready, plan=plan), tmp_path / "study", Watched())
    assert left_s[0] == pytest.approx(cost_of(plan).total_s)
    places = [at for at, each in enumerate(done) if each == "calibration"]
    ends = done.index("rated") - 1  # the run of which it is the rate
    between = [after - before - 1 for before, after in pairwise([*places, ends])]
    assert (len(places), places[0]) == (2 * ROUNDS, 0)
    assert min(between) > 0
    assert max(between) - min(between) <= 1
    batches = plan.together(plan.block(0))
    assert sum(between) == sum(not run.cell.parameters["rate_per_s"] for run, *_ in batches)


def test_rates_are_those_of_the_arm_without_a_remedy() -> None:
    """A calibration of every arm would take longer than the study."""
    at_half = {"rate_per_s": "50%"}
    cells = [
        Cell(
            workload="serve",
            loop="asyncio",
            arm=arm,
            model="threads",
            workers=2,
            parameters=at_half,
        )
        for arm in ("3.14t", "3.14t+recv64k", "3.14t+nogc")
    ]
    (needed,) = calibrations_for(cells, lambda _: "cores")
    assert [cell.arm for cell in needed.candidates] == ["3.14t"]
