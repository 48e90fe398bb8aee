"""`scaling.figure` finds a cell by its name, and returns the same figures as the tables."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import scaling
from scaling.analysis.curves import Curve, Point, curves
from scaling.analysis.lookup.cells import AbsentCellError
from scaling.analysis.statistics.estimate import Estimate
from scaling.analysis.statistics.noise import noise_floor
from scaling.analysis.table.load import Journal
from scaling.base.errors import UsageError
from scaling.journal.record import Calibration, RunLine
from tests.support.runs import of_workers, throttled, with_, with_speed
from tests.support.studies import FakeStudy, in_memory

MADE = FakeStudy(
    variants={"echo": [{"payload_bytes": 256}, {"payload_bytes": 1024}], "compute": [{}]},
    arms=("3.14", "3.14t"),
    loops=("asyncio", "uvloop"),
    models=("threads", "processes"),
    workers=(1, 2, 4),
    blocks=6,
    noise=0.05,
    ticks=4,
    aa_pairs=True,
)
ECHO: dict[str, Any] = {
    "workload": "echo",
    "arm": "3.14t",
    "workers": 2,
    "parameters": {"payload_bytes": 256},
}


def faulty(run: RunLine) -> RunLine:
    """Some runs invalid, and every run with a figure of its own."""
    figures = {"overhead_ns_per_op": 400.0 + run.block}
    told = of_workers(run, lambda each: with_(each, figures=figures))
    return throttled(told) if run.block == 2 and run.cell.workers == 2 else told


@pytest.fixture(scope="module")
def made() -> Journal:
    return replace(MADE, change=faulty).journal


def alike(one: Estimate, other: Estimate) -> bool:
    ours, theirs = ((each.point, each.low, each.high, each.n) for each in (one, other))
    return ours == pytest.approx(theirs, rel=1e-12)


def curve_and_point(made: Journal, model: str = "threads") -> tuple[Curve, Point]:
    wanted = ("echo", {"payload_bytes": 256}, "weak", "asyncio", "3.14t", model)
    for curve in curves(made.frame):
        key = curve.key
        at = (key.workload, key.parameters, key.sizing, key.loop, key.arm, key.model)
        if at == wanted:
            return curve, curve.points[1]
    raise AssertionError(wanted)


READ: dict[str, Callable[[Point], Estimate]] = {
    "throughput_per_s": lambda point: point.throughput,
    "speedup": lambda point: point.speedup,
    "efficiency": lambda point: point.efficiency,
    "cpu_s_per_op": lambda point: point.figures["cpu_s_per_op"],
    "memory_mib": lambda point: point.memory,
    "lag_max_s": lambda point: point.figures["lag_max_s"],
    "overhead_ns_per_op": lambda point: point.own["overhead_ns_per_op"],
}


@pytest.mark.parametrize("measure", READ)
def test_a_figure_is_that_of_the_curves(made: Journal, measure: str) -> None:
    model = "processes"
    found = scaling.figure(made, measure, {**ECHO, "model": model})
    curve, point = curve_and_point(made, model)
    assert alike(found.estimate, READ[measure](point))
    assert found.estimate.n == 5
    assert curve.memory_kind == "PSS"


def test_a_slope_is_that_of_the_curve(made: Journal) -> None:
    cell = {name: value for name, value in ECHO.items() if name != "workers"}
    found = scaling.figure(made, "memory_slope_mib", cell)
    assert alike(found.estimate, curve_and_point(made)[0].slope)
    assert (
        found.what == "PSS per extra worker of echo on asyncio, 3.14t, threads, payload_bytes=256"
    )


def test_there_is_one_value_for_each_block(made: Journal) -> None:
    values = scaling.figure(made, "throughput_per_s", ECHO).values
    assert values.shape == (6,)
    assert np.flatnonzero(np.isnan(values)).tolist() == [2]


def test_time_per_operation_is_throughput_turned_round(made: Journal) -> None:
    rate = scaling.figure(made, "throughput_per_s", ECHO)
    time = scaling.figure(made, "s_per_op", ECHO)
    np.testing.assert_allclose(time.values, 1 / rate.values)
    assert (rate.estimate.unit, time.estimate.unit) == ("round trips/s", "s")


def test_a_ratio_is_paired_inside_blocks(made: Journal) -> None:
    ours = scaling.figure(made, "throughput_per_s", ECHO)
    theirs = scaling.figure(made, "throughput_per_s", {**ECHO, "arm": "3.14", "workers": 1})
    ratio = scaling.figure(made, "throughput_per_s", ECHO, over={"arm": "3.14", "workers": 1})
    np.testing.assert_allclose(ratio.values, ours.values / theirs.values)
    assert ratio.estimate.point == np.nanmedian(ratio.values)
    assert ratio.estimate.point != ours.estimate.point / theirs.estimate.point
    assert ratio.estimate.unit == "×"
    assert ratio.estimate.n == 5


def test_of_threads_over_processes_the_same_memory_is_compared(made: Journal) -> None:
    ratio = scaling.figure(made, "memory_mib", ECHO, over={"model": "processes"})
    ours = scaling.figure(made, "pss_bytes", ECHO)
    theirs = scaling.figure(made, "pss_bytes", {**ECHO, "model": "processes"})
    np.testing.assert_allclose(ratio.values, ours.values / theirs.values)
    assert ratio.what.startswith("PSS of echo")


def test_the_margin_is_that_of_the_cell_and_measure(made: Journal) -> None:
    floor = noise_floor(made.frame, made.study)
    for measure, noisy in (
        ("throughput_per_s", "throughput"),
        ("speedup", "throughput"),
        ("cpu_s_per_op", "cpu_s_per_op"),
        ("memory_mib", "PSS"),
    ):
        found = scaling.figure(made, measure, ECHO, over={"workers": 1})
        assert found.margin == floor.margin(noisy)


@pytest.mark.parametrize(
    ("over", "what"),
    [
        (None, ""),
        ({"workers": 1}, ", over 1 thread"),
        ({"model": "processes"}, ", over 2 processes"),
        ({"loop": "uvloop", "arm": "3.14"}, ", over 3.14, uvloop"),
        ({"parameters": {"payload_bytes": 1024}}, ", over payload_bytes=1,024"),
    ],
)
def test_it_says_in_words_what_it_is(
    made: Journal, over: dict[str, object] | None, what: str
) -> None:
    found = scaling.figure(made, "throughput_per_s", ECHO, over)
    cell = "throughput of echo on asyncio, 3.14t, 2 threads, payload_bytes=256"
    assert found.what == cell + what
    assert found.study == "made"


def test_what_is_made_again_counts_and_duplicates_do_not() -> None:
    study = FakeStudy(
        workers=(1,),
        blocks=2,
        aa_pairs=True,
        noise=0.0,
        change=lambda run: with_speed(run, 0.5) if run.cell.twin else run,
    )
    first = next(run for run in study.runs if not run.cell.twin)
    others = [run for run in study.runs if run is not first]
    again = with_(with_speed(first, 1 / 1.5), attempt=2, position=99)
    found = in_memory([study.first_line, throttled(first), *others, again])
    rates = scaling.figure(found, "throughput_per_s", {"workload": "echo", "workers": 1}).values
    assert rates[1] / rates[0] == pytest.approx(1.5, rel=0.02)


def test_a_rate_has_the_name_that_the_study_gives_it() -> None:
    """Each server has a peak of its own, so `50%` is another rate for each."""
    peaks = {"tcp": 800.0, "asgi": 400.0}
    variants: list[dict[str, Any]] = [
        {"server": each, "rate_per_s": peak / 2} for each, peak in peaks.items()
    ]
    study = FakeStudy(variants={"serve": variants}, workers=(1,), blocks=2)
    calibrations = [
        Calibration(
            workload="serve",
            parameters={"server": server},
            baseline=study.every_cell[0],
            peak_per_s=peak,
            rates={"50%": peak / 2},
        )
        for server, peak in peaks.items()
    ]
    read = replace(study, head={"calibrations": calibrations}).journal
    for server, peak in peaks.items():
        cells = [
            {"workload": "serve", "workers": 1, "parameters": {"server": server, "rate_per_s": r}}
            for r in ("50%", peak / 2)
        ]
        named, counted = (scaling.figure(read, "throughput_per_s", cell) for cell in cells)
        assert named.values.tolist() == counted.values.tolist()
    unclear = {"workload": "serve", "workers": 1, "parameters": {"rate_per_s": "50%"}}
    with pytest.raises(AbsentCellError, match=r"has no serve .* rate_per_s=50%"):
        scaling.figure(read, "throughput_per_s", unclear)


def test_a_cell_without_a_valid_run_has_no_value() -> None:
    study = FakeStudy(workers=(1, 2), blocks=2, change=throttled).journal
    found = scaling.figure(study, "throughput_per_s", {"workload": "echo", "workers": 2})
    assert found.estimate.n == 0
    assert np.isnan(found.values).all()


def test_a_speedup_takes_one_worker() -> None:
    study = FakeStudy(workers=(2, 4), blocks=1).journal
    cell = {"workload": "echo", "workers": 4}
    for measure in ("speedup", "efficiency"):
        with pytest.raises(AbsentCellError, match=f"{measure} is over N = 1, which made does not"):
            scaling.figure(study, measure, cell)
    assert scaling.figure(study, "throughput_per_s", cell, {"workers": 2}).estimate.n == 1


@pytest.mark.parametrize(
    ("study", "cell", "what"),
    [
        (FakeStudy(blocks=1), {}, "throughput of echo on asyncio, 1 thread"),
        (
            FakeStudy(arms=("go",), loops=("own",), workers=(1,), blocks=1),
            {"arm": "go"},
            "throughput of echo on own, go, 1 thread",
        ),
    ],
    ids=["the only arm need not be named", "a runtime has a loop of its own"],
)
def test_what_need_not_be_said_is_known(study: FakeStudy, cell: dict[str, Any], what: str) -> None:
    asked = {"workload": "echo", "workers": 1, **cell}
    assert scaling.figure(study.journal, "throughput_per_s", asked).what == what


@pytest.mark.parametrize(
    ("measure", "changed", "message"),
    [
        ("throughput_per_s", {"arm": "3.13"}, "made has no echo on .*; the nearest has 3.14t?$"),
        ("throughput_per_s", {"workers": 3}, "the nearest has (1 thread|[24] threads)$"),
        ("throughput_per_s", {"loop": "uvlop"}, "echo on uvlop, .*has (asyncio|uvloop)$"),
        (
            "throughput_per_s",
            {"sizing": "strong"},
            "strong sizing, .*; the nearest has weak sizing",
        ),
        (
            "throughput_per_s",
            {"parameters": {"payload_bytes": 512}},
            "payload_bytes=512; the nearest has payload_bytes=256$",
        ),
        ("throughput_per_s", {"parameters": {"bytes": 1}}, "bytes=1; the nearest has no bytes$"),
        ("throughput_per_s", {"parameters": {"payload_bytes": True}}, "has payload_bytes=256$"),
        ("throughput_per_s", {"workload": "fetch"}, "its workloads: (echo, )?compute(, echo)?$"),
        (
            "throughput_per_s",
            {"parameters": {}},
            r"several echo on .*; name the parameter payload_bytes \(",
        ),
        ("throughput_per_s", {"arm": None}, "several echo .*; name the arm: 3.14t? or 3.14t?$"),
        ("throughput_per_s", {"workers": None}, "is of a number of workers: name the cell's"),
        ("throughput_per_s", {"workers": "2"}, "workers: expected a whole number from 1 on, got"),
        ("throughput_per_s", {"parameters": 256}, "parameters: expected names with values"),
        ("throughput_per_s", {"worker": 2}, "unknown field of a cell 'worker'.*'workers'"),
        ("throughput", {}, "unknown measure 'throughput'. Did you mean 'throughput_per_s'"),
        ("overhead_ns", {}, "unknown measure 'overhead_ns'. Did you mean 'overhead_ns_per_op'"),
        ("workers", {}, "unknown measure 'workers'"),
        ("loop", {}, "unknown measure 'loop'"),
    ],
)
def test_the_error_for_what_is_not_there_lists_what_is(
    made: Journal, measure: str, changed: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        scaling.figure(made, measure, {**ECHO, **changed})
    assert "\n" not in str(caught.value)


def test_a_cell_has_a_workload(made: Journal) -> None:
    with pytest.raises(UsageError, match="a cell is named by its workload"):
        scaling.figure(made, "throughput_per_s", {"arm": "3.14t", "workers": 2})


def test_the_other_side_of_a_ratio_is_looked_up_as_well(made: Journal) -> None:
    with pytest.raises(UsageError, match=r"made has no echo on .*, 8 threads"):
        scaling.figure(made, "throughput_per_s", ECHO, over={"workers": 8})
