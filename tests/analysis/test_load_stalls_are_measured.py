"""A stopped server and a stopped generator, for real: the first is measured, the other reported."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.benchmarks.figure import Effort
from tests.benchmarks.load_against_queueing import run
from tests.support.servers import LIMIT_S, generator_command, ready, start
from tests.support.waiting import wait_until
from workers.services.load.distribution import Distribution

pytestmark = pytest.mark.measures  # on one build: the generator runs with the GIL

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


def under_way(server: "subprocess.Popen[str]") -> None:
    """Wait until requests have come for a second: a generator may take long to start."""
    serving = psutil.Process(server.pid)
    wait_until(lambda: len(serving.net_connections("tcp")) > 1)
    time.sleep(1)


def stop_for(pid: int, seconds: float) -> float:
    """Stop a process; return for how long it really was."""
    begun = time.monotonic()
    os.kill(pid, signal.SIGSTOP)
    try:
        time.sleep(seconds)
    finally:
        os.kill(pid, signal.SIGCONT)
    return time.monotonic() - begun


def result(generator: "subprocess.Popen[str]") -> dict[str, Any]:
    out, _ = generator.communicate(timeout=LIMIT_S)
    found: dict[str, Any] = json.loads(out)
    return found


def test_latency_is_what_the_server_logged_since_each_request_was_due() -> None:
    """Holds on a busy machine, too: whatever delays sending or serving is in both."""
    found = run(Effort(window_s=0.5), load=0.7, seed=1)
    assert found.mean == pytest.approx(found.logged_mean, rel=0.05)
    assert found.p99 == pytest.approx(found.logged_p99, rel=0.05)


def test_a_stopped_server_delays_a_known_fraction(
    server: "subprocess.Popen[str]",
) -> None:
    """A fraction f = stopped / (1 − ρ) waits, evenly from 0 to the whole stop."""
    seconds = 5.0
    with load(server, seconds) as generator:
        under_way(server)
        stopped_s = stop_for(server.pid, 0.5)
        summary = result(generator)
    affected = stopped_s / seconds / (1 - RATE_PER_S * SERVICE_MS / 1_000)
    windows = summary["windows"]
    latency = Distribution(each[name] for each in windows for name in ("latency", "censored"))
    for q in (0.95, 0.99):
        expected_ms = 1_000 * stopped_s * (1 - (1 - q) / affected)
        assert latency.quantile_ms(q) == pytest.approx(expected_ms, abs=TOLERANCE_MS)
    median_ms = latency.quantile_ms(0.5)
    assert median_ms is not None
    assert median_ms < TOLERANCE_MS
    assert summary["slip_ms"]["p90"] is not None
    assert summary["slip_ms"]["p90"] < TOLERANCE_MS  # it was not the generator


def test_a_stopped_generator_makes_the_result_invalid(
    server: "subprocess.Popen[str]",
) -> None:
    seconds = 3
    with load(server, seconds) as generator:
        under_way(server)
        (sending,) = psutil.Process(generator.pid).children()
        stopped_s = stop_for(sending.pid, 1.0)
        summary = result(generator)
    slip = summary["slip_ms"]
    assert slip["n"] == summary["offered"] == RATE_PER_S * seconds
    assert slip["max"] == pytest.approx(1_000 * stopped_s, abs=TOLERANCE_MS)
    assert generator.returncode == 1
    assert "the generator was late" in summary["invalid"][0]
