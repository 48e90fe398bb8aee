"""What do an open and a closed loop make of a server that stands still for a second?

A server takes about 2 ms for each request, one at a time. It is stopped (SIGSTOP) for 1 s of 10. In
an open loop, requests are due at a constant rate, so the fraction of them that waits is known, and
so is every percentile. In a closed loop on one connection a single request waits: no other is sent
until it is answered. With C connections it would be C requests, however long the stop.

With `--to FOLDER` the histograms are written as `stall.json`.
"""

import os
import platform
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import psutil

from tests.benchmarks.figure import Effort, Figure
from tests.benchmarks.queue import SERVICE_MS, generated, latencies, serving
from tests.support.servers import last_words, ready
from tests.support.waiting import wait_until
from workers.services.load.tally import Distribution

FILE = "stall.json"
RATE_PER_S = 20
WINDOWS_S = 10  # seconds of a run, for each second of a benchmark's window
STOPPED = 0.1  # of a run
TARGET = 0.05
OPTIONS = {
    "open": (f"--rate={RATE_PER_S}", "--arrivals=constant"),
    "closed": ("--rate=max", "--connections=1"),
}


class Run(msgspec.Struct, frozen=True):
    """For how long the server was stopped, and a histogram of the latencies, ns."""

    stopped_s: float
    value_ns: Sequence[int]
    count: Sequence[int]


class Stalls(msgspec.Struct, frozen=True):
    """What was measured: the contents of `stall.json`."""

    python: str
    seconds: float
    rate_per_s: float
    service_ms: float
    open: Sequence[Run]
    closed: Sequence[Run]

    def latency(self, loop: str) -> Distribution:
        """Of all runs together."""
        return Distribution(msgspec.structs.asdict(each) for each in getattr(self, loop))

    def predicted_ms(self, q: float) -> float:
        """The quantile of the open loop's latencies.

        A fraction f = stopped / (1 − ρ) of all requests waits, evenly from 0 to the whole stop.
        """
        stopped_s = sum(each.stopped_s for each in self.open) / len(self.open)
        affected = stopped_s / self.seconds / (1 - self.rate_per_s * self.service_ms / 1_000)
        return max(self.service_ms, 1_000 * stopped_s * (1 - (1 - q) / affected))


def read(folder: Path) -> Stalls:
    """What an earlier run wrote."""
    return msgspec.json.decode((folder / FILE).read_bytes(), type=Stalls)


def figures(effort: Effort) -> Iterator[Figure]:
    """Measured over predicted percentiles of the open loop, and those of the closed one.

    The stops begin at different times between two requests: that is what an even wait means.
    """
    seconds = effort.window_s * WINDOWS_S
    runs: dict[str, list[Run]] = {loop: [] for loop in OPTIONS}
    for number in range(effort.pairs):
        after_s = seconds * STOPPED + number / effort.pairs / RATE_PER_S
        for loop, several in runs.items():
            several.append(run(loop, seconds, after_s))
    found = Stalls(platform.python_version(), seconds, RATE_PER_S, SERVICE_MS, **runs)
    for q in (0.95, 0.99):
        all_ms, predicted_ms = found.latency("open").quantile_ms(q) or 0.0, found.predicted_ms(q)
        detail = f"{all_ms:.0f} ms, predicted {predicted_ms:.0f}"
        off = abs(all_ms / predicted_ms - 1)
        name = f"stall: P{q * 100:g} / predicted - 1"
        yield Figure(name, [off], at_most=TARGET, detail=detail)
        closed_ms = found.latency("closed").quantile_ms(q) or 0.0
        yield Figure(f"stall: P{q * 100:g}, closed loop", [closed_ms], unit=" ms")
    if effort.folder:
        effort.folder.mkdir(parents=True, exist_ok=True)
        (effort.folder / FILE).write_bytes(msgspec.json.encode(found))


def run(loop: str, seconds: float, after_s: float) -> Run:
    """Load a server of its own, and stop it once."""
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder, "log")) as server,
        ThreadPoolExecutor(1) as sender,
    ):
        (url,) = ready(server)["urls"]
        options = (f"--seconds={seconds}", "--warmup=0", *OPTIONS[loop])
        sending = sender.submit(generated, url, *options)
        process = psutil.Process(server.pid)
        wait_until(lambda: len(process.net_connections("tcp")) > 1)  # requests come
        time.sleep(after_s)
        begun = time.monotonic()
        os.kill(server.pid, signal.SIGSTOP)
        try:
            time.sleep(seconds * STOPPED)
        finally:
            os.kill(server.pid, signal.SIGCONT)
        stopped_s = time.monotonic() - begun
        found = latencies(sending.result())
        last_words(server)
    return Run(stopped_s, **found.document())
