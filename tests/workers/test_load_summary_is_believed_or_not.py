"""The summary adds up all processes, leaves out what is mostly chance, and says what is invalid."""

from typing import Any

import numpy as np
import pytest

from workers.services.load.summary import printout, summarize
from workers.services.load.tally import Distribution, Tally
from workers.worker.handle import Histogram

MS = 1_000_000


def histogram(values_ms: list[float]) -> Any:
    made = Histogram()
    for value in values_ms:
        made.record(round(value * MS))
    return made.document()


def report(
    latency_ms: list[float],
    slip_ms: list[float],
    *,
    censored_ms: list[float] | None = None,
    errors: dict[str, int] | None = None,
    busy: float = 0.1,
    timer: str | None = "timerfd",
) -> dict[str, Any]:
    window = {
        "offered": len(latency_ms) + len(censored_ms or []) + sum((errors or {}).values()),
        "completed": len(latency_ms),
        "received": len(latency_ms),
        "errors": errors or {},
        "declined": {},
        "latency": histogram(latency_ms),
        "service": histogram(latency_ms),
        "slip": histogram(slip_ms),
        "censored": histogram(censored_ms or []),
    }
    return {
        "answered": len(latency_ms),
        "windows": [window],
        "busy_fraction": busy,
        "cpu_s": busy,
        "timer": timer,
        "python": "3.14.7",
        "gil": True,
        "loop": "uvloop",
        "slice_ns": 100_000,
    }


def summary(*reports: dict[str, Any]) -> dict[str, Any]:
    return summarize(reports, [0, 10_000 * MS], histograms=True)


def test_answers_count_in_the_part_in_which_they_come() -> None:
    tally = Tally([100, 200, 300])
    for sent_ns in range(0, 300, 50):  # two are in flight at any time
        tally.settle(tally.take(sent_ns), sent_ns, sent_ns, sent_ns + 100, "")
    assert [window.received for window in tally.windows] == [2, 2]
    assert [window.completed for window in tally.windows] == [2, 0]  # of those due in it
    assert tally.answered == 4


@pytest.mark.parametrize(
    ("name", "least"), [("p50", 40), ("p90", 200), ("p95", 400), ("p99", 2_000), ("p999", 20_000)]
)
def test_a_percentile_needs_twenty_samples_beyond_it(name: str, least: int) -> None:
    for count, given in ((least, True), (least - 1, False)):
        figures = Distribution([histogram([5.0] * count)]).figures()
        assert (figures[name] is not None) is given


def test_figures_are_those_of_numpy_within_a_bucket() -> None:
    values = np.random.default_rng(3).lognormal(1, 1, 30_007)
    halves = [histogram(list(half)) for half in np.array_split(values, 2)]
    figures = Distribution(halves).figures()
    assert figures["n"] == len(values)
    assert figures["mean"] == pytest.approx(values.mean(), rel=0.004)
    assert figures["max"] == pytest.approx(values.max(), rel=0.004)
    for name, q in (("p50", 50), ("p90", 90), ("p95", 95), ("p99", 99), ("p999", 99.9)):
        exact = np.percentile(values, q, method="inverted_cdf")
        assert figures[name] == pytest.approx(exact, rel=0.004)


def test_processes_are_added_up_and_the_busiest_counts() -> None:
    one = report([1.0] * 50, [0.0] * 53, errors={"status": 2}, censored_ms=[9.0], busy=0.1)
    other = report([3.0] * 50, [0.0] * 51, errors={"status": 1, "reset": 1}, busy=0.6)
    found = summary(one, other)
    assert (found["offered"], found["completed"], found["censored"]) == (105, 100, 1)
    assert found["errors"] == {"reset": 1, "status": 3}
    assert found["rate_per_s"] == 10
    assert found["busy_fraction"] == 0.6
    assert found["latency_ms"]["n"] == 101
    assert found["latency_ms"]["max"] == pytest.approx(9, rel=0.004)  # of the unfinished one
    assert found["service_ms"]["max"] == pytest.approx(3, rel=0.004)
    assert sum(found["windows"][0]["latency"]["count"]) == 100
    assert found["invalid"] == []


@pytest.mark.parametrize(
    ("slip_ms", "doubtful", "invalid"),
    [
        ([0.01] * 3_000, [], False),
        ([0.9] * 3_000, [], False),
        ([1.1] * 3_000, ["mean", "p50", "p90", "p95", "p99", "max"], True),
        ([0.0] * 2_900 + [1.2] * 100, ["p99", "max"], True),
        ([0.0] * 2_999 + [8.0], ["max"], False),
    ],
)
def test_slip_is_compared_with_the_same_figure_of_the_latency(
    slip_ms: list[float], doubtful: list[str], invalid: bool
) -> None:
    found = summary(report([10.0] * 3_000, slip_ms))
    assert found["doubtful"] == doubtful
    assert bool(found["invalid"]) is invalid
    assert ("INVALID: the generator was late" in printout(found)) is invalid


def test_the_time_to_wake_up_is_no_slip_that_matters() -> None:
    assert summary(report([0.05] * 3_000, [0.03] * 3_000))["doubtful"] == []
    assert "mean" in summary(report([0.5] * 3_000, [0.2] * 3_000))["doubtful"]


def test_a_busy_generator_is_invalid_in_the_open_loop_alone() -> None:
    assert "71% busy" in summary(report([1.0], [0.0], busy=0.71))["invalid"][0]
    assert summary(report([1.0], [0.0], busy=0.69))["invalid"] == []
    assert summary(report([1.0], [], busy=0.99, timer=None))["invalid"] == []


def test_no_answer_at_all_is_invalid() -> None:
    found = summary(report([], [0.0] * 5, errors={"timeout": 5}))
    assert found["invalid"] == ["no request was answered"]
    assert found["latency_ms"] == dict.fromkeys(found["latency_ms"], None) | {"n": 0}
    assert "5 failed: no answer in time" in printout(found)


def test_the_printout_fits_a_terminal() -> None:
    found = summary(report([3.6e6] * 30_000, [1e6] * 30_000, errors={"malformed": 10**6}))
    assert found["invalid"]
    assert max(map(len, printout(found).splitlines())) <= 80
