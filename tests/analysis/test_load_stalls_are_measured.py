"""What a real server logged is the latency; a stopped generator makes the result invalid."""

import sys
from pathlib import Path

import psutil
import pytest

from tests.benchmarks.figure import Effort
from tests.benchmarks.load_against_queueing import run
from tests.benchmarks.load_stall import result, stop_for, under_way
from tests.support.servers import generator_command, ready, start

RATE_PER_S = 40
SERVICE_MS = 2
TOLERANCE_MS = 100  # four requests apart; a busy machine stalls for that long, too


@pytest.mark.slow
def test_latency_is_what_the_server_logged_since_each_request_was_due() -> None:
    """Holds on a busy machine, too: whatever delays sending or serving is in both."""
    found = run(Effort(window_s=0.5), load=0.7, seed=1)
    assert found.mean == pytest.approx(found.logged_mean, rel=0.05)
    assert found.p99 == pytest.approx(found.logged_p99, rel=0.05)


# What a stopped server does is shown in virtual time, and by `python -m tests.benchmarks`.
@pytest.mark.measures
def test_a_stopped_generator_makes_the_result_invalid(tmp_path: Path) -> None:
    def queue(*options: str) -> list[str]:
        module = "tests.support.queue_server"
        return [sys.executable, "-m", module, str(tmp_path / "log"), str(SERVICE_MS)]

    seconds = 3
    with start(command=queue) as server:
        (url,) = ready(server)["urls"]
        sent = (f"--rate={RATE_PER_S}", f"--seconds={seconds}", "--arrivals=constant", "--warmup=0")
        with start(url, "--json", "--histograms", *sent, command=generator_command) as generator:
            under_way(server, 1.0)
            (sending,) = psutil.Process(generator.pid).children()
            stopped_s = stop_for(sending.pid, 1.0)
            summary = result(generator)
    slip = summary["slip_ms"]
    assert slip["n"] == summary["offered"] == RATE_PER_S * seconds
    assert slip["max"] == pytest.approx(1_000 * stopped_s, abs=TOLERANCE_MS)
    assert generator.returncode == 1
    assert "the generator was late" in summary["invalid"][0]
