"""A stopped server and a stopped generator, for real: the first is measured, the other reported."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import psutil
import pytest

from tests.benchmarks.figure import Effort
from tests.benchmarks.load_against_queueing import run
from tests.benchmarks.load_stall import latencies, result, stop_for, under_way
from tests.benchmarks.stalls import waiting_s
from tests.support.servers import generator_command, ready, start

RATE_PER_S = 40
SERVICE_MS = 2
TOLERANCE_MS = 100  # four requests apart; a busy machine stalls for that long, too


@pytest.fixture
def server(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    def command(*options: str) -> list[str]:
        module = "tests.support.queue_server"
        return [sys.executable, "-m", module, str(tmp_path / "log"), str(SERVICE_MS)]

    with start(command=command) as running:
        yield running


def load(
    server: "subprocess.Popen[str]", seconds: float
) -> AbstractContextManager["subprocess.Popen[str]"]:
    (url,) = ready(server)["urls"]
    return start(
        *(url, "--arrivals=constant", "--warmup=0", "--json", "--histograms"),
        *(f"--rate={RATE_PER_S}", f"--seconds={seconds}"),
        command=generator_command,
    )


@pytest.mark.slow
def test_latency_is_what_the_server_logged_since_each_request_was_due() -> None:
    """Holds on a busy machine, too: whatever delays sending or serving is in both."""
    found = run(Effort(window_s=0.5), load=0.7, seed=1)
    assert found.mean == pytest.approx(found.logged_mean, rel=0.05)
    assert found.p99 == pytest.approx(found.logged_p99, rel=0.05)


# What a known schedule makes of it is shown in virtual time, and by `python -m tests.benchmarks`.
@pytest.mark.measures
@pytest.mark.thorough
def test_a_stopped_server_delays_a_known_fraction(
    server: "subprocess.Popen[str]",
) -> None:
    seconds = 5.0
    with load(server, seconds) as generator:
        under_way(server, 1.0)
        stopped_s = stop_for(server.pid, 0.5)
        summary = result(generator)
    latency = latencies(summary)
    for q in (0.95, 0.99):
        expected_ms = 1_000 * waiting_s(q, stopped_s, seconds, RATE_PER_S * SERVICE_MS / 1_000)
        assert latency.quantile_ms(q) == pytest.approx(expected_ms, abs=TOLERANCE_MS)
    median_ms = latency.quantile_ms(0.5)
    assert median_ms is not None
    assert median_ms < TOLERANCE_MS
    assert summary["slip_ms"]["p90"] is not None
    assert summary["slip_ms"]["p90"] < TOLERANCE_MS  # it was not the generator


@pytest.mark.measures
def test_a_stopped_generator_makes_the_result_invalid(
    server: "subprocess.Popen[str]",
) -> None:
    seconds = 3
    with load(server, seconds) as generator:
        under_way(server, 1.0)
        (sending,) = psutil.Process(generator.pid).children()
        stopped_s = stop_for(sending.pid, 1.0)
        summary = result(generator)
    slip = summary["slip_ms"]
    assert slip["n"] == summary["offered"] == RATE_PER_S * seconds
    assert slip["max"] == pytest.approx(1_000 * stopped_s, abs=TOLERANCE_MS)
    assert generator.returncode == 1
    assert "the generator was late" in summary["invalid"][0]
