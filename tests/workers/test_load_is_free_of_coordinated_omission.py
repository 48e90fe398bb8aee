"""Open-loop latency is what queueing theory gives for the same arrivals; stalls are not hidden.

All in virtual time, so the figures are exact up to a histogram's bucket (0.4 %).
"""

import random
from itertools import repeat
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.support.simulated_load import SECOND_NS, Server, simulate
from workers.services.load.arrivals import arrivals
from workers.services.load.summary import printout
from workers.services.load.tally import Distribution

MS = 1_000_000
BUCKET = 0.005


def quantile_ms(summary: dict[str, Any], q: float) -> float:
    """A percentile whatever the number of samples."""
    (window,) = summary["windows"]
    found = Distribution([window["latency"], window["censored"]]).quantile_ms(q)
    assert found is not None
    return found


def lindley_ms(due_ns: list[int], service_ns: list[int]) -> NDArray[np.float64]:
    """Time in a single-server queue: W(n+1) = max(0, W(n) + S(n) − A(n))."""
    waits = [0]
    for n in range(len(due_ns) - 1):
        waits.append(max(0, waits[n] + service_ns[n] - (due_ns[n + 1] - due_ns[n])))
    return np.add(waits, service_ns) / float(MS)


@pytest.mark.parametrize("connections", [4, 64])
@pytest.mark.parametrize("load", [0.5, 0.7, 0.9])
def test_latency_of_a_single_server_is_that_of_the_lindley_recursion(
    load: float, connections: int
) -> None:
    seconds, rate = 60, load / 0.002
    shape = random.Random(3).gammavariate
    service_ns = [round(shape(4, 0.5 * MS)) for _ in range(int(rate * seconds * 1.2))]
    due = until(seconds, rate)
    server = Server(iter(service_ns))
    summary = simulate(arrivals("poisson", rate, 5), [server] * connections, seconds)
    expected = lindley_ms(due, service_ns[: len(due)])
    assert summary["offered"] == len(due)
    assert summary["latency_ms"]["mean"] == pytest.approx(expected.mean(), rel=BUCKET)
    for q in (0.5, 0.9, 0.99):
        exact = np.percentile(expected, 100 * q, method="inverted_cdf")
        assert quantile_ms(summary, q) == pytest.approx(exact, rel=BUCKET)
    assert summary["slip_ms"]["max"] == 0
    assert summary["invalid"] == []


def until(seconds: int, rate: float) -> list[int]:
    due: list[int] = []
    for each in arrivals("poisson", rate, 5):
        if each >= seconds * SECOND_NS:
            return due
        due.append(each)
    raise AssertionError


@pytest.mark.parametrize(("rate", "service_ms"), [(20, 2), (20, 35), (2_000, 0.2)])
def test_a_server_stopped_for_a_second_delays_as_many_requests_as_it_must(
    rate: int, service_ms: float
) -> None:
    """Stopped 1 s of 10: a fraction f = 0.1 / (1 − ρ) waits, evenly from 0 to 1 s."""
    server = Server(repeat(int(service_ms * MS)), (4 * SECOND_NS, 5 * SECOND_NS))
    summary = simulate(arrivals("constant", rate, 1), [server] * 64, 10)
    affected = 0.1 / (1 - rate * service_ms / 1_000)
    for q in (0.95, 0.99):
        expected_ms = 1_000 * (1 - (1 - q) / affected)
        step_ms = 1_000 / rate  # requests are that far apart
        assert quantile_ms(summary, q) == pytest.approx(
            expected_ms, abs=step_ms + service_ms, rel=BUCKET
        )


def test_the_closed_loop_hides_the_same_stall() -> None:
    server = Server(repeat(2 * MS), (4 * SECOND_NS, 5 * SECOND_NS))
    summary = simulate(None, [server], 10)
    assert quantile_ms(summary, 0.99) == pytest.approx(2, rel=BUCKET)
    assert summary["latency_ms"]["max"] > 1_000


def test_requests_of_a_connection_that_hangs_go_to_the_others() -> None:
    """One of four never answers: it holds one request, and delays no other."""
    servers = [Server(repeat(2 * MS)) for _ in range(3)]
    summary = simulate(arrivals("constant", 100, 1), [None, *servers], 10)
    assert summary["censored"] == 1
    assert summary["completed"] == summary["offered"] - 1 > 900
    assert quantile_ms(summary, 0.99) < 10


def test_requests_unfinished_at_the_end_keep_the_latency_they_have() -> None:
    """The server stops for good at 5 s of 10: half are unfinished, and half of those wait 2.5 s."""
    server = Server(repeat(1 * MS), (5 * SECOND_NS, 100 * SECOND_NS))
    summary = simulate(arrivals("constant", 100, 1), [server] * 8, 10)
    assert (summary["offered"], summary["completed"], summary["censored"]) == (1_000, 500, 500)
    assert summary["latency_ms"]["n"] == 1_000
    assert summary["service_ms"]["n"] == 500
    assert quantile_ms(summary, 0.75) == pytest.approx(2_500, abs=11, rel=BUCKET)
    assert summary["latency_ms"]["max"] == pytest.approx(5_000, rel=BUCKET)


def test_a_server_that_falls_behind_is_measured() -> None:
    """Twice what it can do: after 10 s the backlog is 5 s long, and so is the longest wait."""
    summary = simulate(arrivals("constant", 1_000, 1), [Server(repeat(2 * MS))] * 4, 10)
    assert summary["invalid"] == []
    assert summary["rate_per_s"] == pytest.approx(500, rel=0.01)
    assert summary["censored"] == pytest.approx(5_000, abs=10)
    assert summary["latency_ms"]["max"] == pytest.approx(5_000, rel=BUCKET)
    assert "the server fell behind" in printout(summary)


@pytest.mark.parametrize("connections", [64, 1])
def test_a_stopped_generator_shows_in_the_slip_and_makes_the_result_invalid(
    connections: int,
) -> None:
    """Stopped 1 s of 10: a tenth of all requests slip, also where every connection is busy."""
    stopped = (4 * SECOND_NS, 5 * SECOND_NS)
    busy_ms = 9 if connections == 1 else 1
    server = Server(repeat(busy_ms * MS))
    summary = simulate(arrivals("constant", 100, 1), [server] * connections, 10, stopped=stopped)
    slip = summary["slip_ms"]
    assert slip["n"] == summary["offered"] == 1_000
    assert slip["max"] == pytest.approx(1_000, abs=busy_ms, rel=0.02)
    assert slip["p90"] is not None
    assert slip["p95"] == pytest.approx(500, abs=11, rel=BUCKET)
    assert "the generator was late" in summary["invalid"][0]


def test_a_generator_that_is_on_time_is_valid() -> None:
    summary = simulate(arrivals("constant", 100, 1), [Server(repeat(MS))] * 4, 10)
    assert summary["invalid"] == summary["doubtful"] == []
    assert summary["slip_ms"]["max"] == 0
