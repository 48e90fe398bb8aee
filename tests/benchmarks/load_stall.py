"""What do an open and a closed loop make of a server that stands still for a second?

A server takes about 2 ms for each request, one at a time. It is stopped (SIGSTOP) for 1 s of 10. In
an open loop, requests are due at a constant rate, so the fraction of them that waits is known, and
so is every percentile. In a closed loop on one connection a single request waits: no other is sent
until it is answered. With C connections it would be C requests, however long the stop.

With `--to FOLDER` the histograms are written as `stall.json`, and the picture beside them.
"""

import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from tests.benchmarks.figure import Effort, Figure
from tests.benchmarks.stalls import Run, Stalls, distribution, measured_ms
from tests.support.children import PATIENCE_S
from tests.support.servers import GENERATOR, ready, start
from tests.support.waiting import wait_until
from workers.services.load.tally import Distribution

SERVICE_MS = 2.0
SLEEP_MS = 1.9  # of it; the rest is late wake-ups and system calls
RATE_PER_S = 20
WINDOWS_S = 10  # seconds of a run, for each second of a benchmark's window
STOPPED = 0.1  # of a run
TARGET = 0.05
OPTIONS = {
    "open": (f"--rate={RATE_PER_S}", "--arrivals=constant"),
    "closed": ("--rate=max", "--connections=1"),
}


def figures(effort: Effort, *, free_threaded: bool) -> Iterator[Figure]:
    """Measured over predicted percentiles of the open loop, and those of the closed one."""
    del free_threaded
    found = measured(effort)
    for q in (0.95, 0.99):
        all_ms, predicted_ms = measured_ms(found.latency("open"), q), found.predicted_ms(q)
        name = f"stall: P{q * 100:g}"
        yield Figure(f"{name} / predicted, open loop", found.ratios(q), "at least", None)
        detail = f"{all_ms:.0f} ms, predicted {predicted_ms:.0f}"
        off = abs(all_ms / predicted_ms - 1)
        yield Figure(f"{name}, all runs / predicted - 1", [off], "at most", TARGET, detail=detail)
    for q in (0.95, 0.99, 0.999):
        values = [measured_ms(distribution([run]), q) for run in found.closed]
        yield Figure(f"stall: P{q * 100:g}, closed loop", values, "at most", None, " ms")
    if effort.folder:
        from tests.benchmarks.stall_picture import draw  # matplotlib takes a second

        effort.folder.mkdir(parents=True, exist_ok=True)
        found.write(effort.folder)
        draw(effort.folder)


def measured(effort: Effort) -> Stalls:
    """Open and closed loop in turn, each against a server of its own.

    The stops begin at different times between two requests: that is what an even wait means.
    """
    seconds = effort.window_s * WINDOWS_S
    runs: dict[str, list[Run]] = {loop: [] for loop in OPTIONS}
    for number in range(effort.pairs):
        after_s = seconds * STOPPED + number / effort.pairs / RATE_PER_S
        for loop, several in runs.items():
            several.append(run(loop, seconds, after_s))
    return Stalls(platform.python_version(), seconds, RATE_PER_S, SERVICE_MS, **runs)


def run(loop: str, seconds: float, after_s: float) -> Run:
    """Load a server and stop it once."""
    with tempfile.TemporaryDirectory() as folder:

        def server(*options: str) -> list[str]:
            log = str(Path(folder, "log"))
            return [sys.executable, "-m", "tests.support.queue_server", log, str(SLEEP_MS)]

        def generator(*options: str) -> list[str]:
            return [sys.executable, *GENERATOR, *options]

        with start(command=server) as serving:
            (url,) = ready(serving)["urls"]
            fixed = (url, f"--seconds={seconds}", "--warmup=0", "--json", "--histograms")
            with start(*fixed, *OPTIONS[loop], command=generator) as sending:
                under_way(serving, after_s)
                stopped_s = stop_for(serving.pid, seconds * STOPPED)
                summary = result(sending)
            assert serving.stdin
            serving.stdin.close()
            serving.wait()
    latency = latencies(summary)
    return Run(stopped_s, **latency.document())


def under_way(server: "subprocess.Popen[str]", after_s: float) -> None:
    """Wait until requests have come for so long: a generator may take long to start."""
    serving = psutil.Process(server.pid)
    wait_until(lambda: len(serving.net_connections("tcp")) > 1)
    time.sleep(after_s)


def stop_for(pid: int, seconds: float) -> float:
    """Stop a process; return for how long it really was, s."""
    begun = time.monotonic()
    os.kill(pid, signal.SIGSTOP)
    try:
        time.sleep(seconds)
    finally:
        os.kill(pid, signal.SIGCONT)
    return time.monotonic() - begun


def result(generator: "subprocess.Popen[str]") -> dict[str, Any]:
    """What the generator prints; an invalid result (exit code 1) counts here, too."""
    out, errors = generator.communicate(timeout=PATIENCE_S)
    assert out, errors
    found: dict[str, Any] = json.loads(out)
    return found


def latencies(summary: dict[str, Any]) -> Distribution:
    """Of answered and of unfinished requests."""
    windows = summary["windows"]
    return Distribution(each[name] for each in windows for name in ("latency", "censored"))
