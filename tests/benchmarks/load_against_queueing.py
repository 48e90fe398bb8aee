"""Does the load generator measure what queueing theory says it must?

A server takes about 2 ms for each request, one at a time, and logs its times. The Lindley recursion
on the same seeded arrivals and the logged service times gives the latency of every request; what
was measured is compared with that. The recursion does not know how late the generator sent nor how
late it read, so a busy machine adds to the difference. The logged answers, counted from when they
were due, know the one. Two generator processes are compared with one, and one with one again on
the same arrivals: where the intervals overlap, they differ by no more than the noise.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tests.benchmarks.figure import Effort, Figure
from tests.support.children import environment
from tests.support.servers import ready, start
from workers.services.load.part import arrivals
from workers.services.load.tally import Distribution

SERVICE_MS = 2.0
SLEEP_MS = 1.9  # of it; the rest is late wake-ups and system calls
LOADS = (0.5, 0.7)
WINDOWS_S = 8  # seconds of a run, for each second of a benchmark's window
MEAN_TARGET, P99_TARGET = 0.02, 0.05


class Outcome(NamedTuple):
    """Measured and expected latency, ms."""

    mean: float
    p50: float
    p99: float
    expected_mean: float
    expected_p99: float
    logged_mean: float  # from due to answered, by the server's log
    logged_p99: float
    slip_mean: float


def figures(effort: Effort, *, free_threaded: bool) -> Iterator[Figure]:
    """How far measured latency is from theory, and two processes from one."""
    del free_threaded
    for load in LOADS:
        found = [run(effort, load, seed) for seed in range(effort.pairs)]
        logged = np.median([abs(each.mean / each.logged_mean - 1) for each in found])
        slip = np.median([each.slip_mean for each in found])
        detail = f"from the answers as logged: {logged:.3f}; mean slip {slip:.3f} ms"
        off = [abs(each.mean / each.expected_mean - 1) for each in found]
        name = f"load: mean / Lindley - 1, at {load}"
        yield Figure(name, off, "at most", MEAN_TARGET, detail=detail)
        off = [abs(each.p99 / each.expected_p99 - 1) for each in found]
        yield Figure(f"load: P99 / Lindley - 1, at {load}", off, "at most", P99_TARGET)
    rounds = [[run(effort, 0.5, seed, each) for each in (1, 2, 1)] for seed in range(effort.pairs)]
    for q in ("p50", "p99"):
        for name, place in (("two processes / one", 1), ("one / one", 2)):
            ratios = [getattr(each[place], q) / getattr(each[0], q) for each in rounds]
            yield Figure(f"load: {q.upper()}, {name}", ratios, "at most", None)


def run(effort: Effort, load: float, seed: int, processes: int = 1) -> Outcome:
    """Load a server of its own."""
    seconds = effort.window_s * WINDOWS_S
    rate_per_s = load * 1_000 / SERVICE_MS
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")

        def command(*options: str) -> list[str]:
            return [sys.executable, "-m", "tests.support.queue_server", str(log), str(SLEEP_MS)]

        with start(command=command) as server:
            (url,) = ready(server)["urls"]
            summary = generate(url, rate_per_s, seconds, seed, processes)
            assert server.stdin
            server.stdin.close()
            server.wait()
            received, done = np.loadtxt(log, dtype=np.int64).T
    due = np.array(list(until(rate_per_s, seed, seconds)))
    expected = lindley_ms(due[: len(done)], received, done)
    opens_ns, *_, closes_ns = summary["instants_ns"]
    ended = np.full(len(due), closes_ns)  # what is unfinished then has the latency so far
    ended[: len(done)] = np.minimum(done, closes_ns)
    logged = (ended - opens_ns - due) / 1e6
    latency = Distribution(
        window[name] for window in summary["windows"] for name in ("latency", "censored")
    )
    return Outcome(
        mean=latency.mean_ms or 0.0,
        p50=latency.quantile_ms(0.5) or 0.0,
        p99=latency.quantile_ms(0.99) or 0.0,
        expected_mean=float(expected.mean()),
        expected_p99=float(np.percentile(expected, 99)),
        logged_mean=float(logged.mean()),
        logged_p99=float(np.percentile(logged, 99)),
        slip_mean=summary["slip_ms"]["mean"],
    )


def lindley_ms(
    due: NDArray[np.int64], received: NDArray[np.int64], done: NDArray[np.int64]
) -> NDArray[np.float64]:
    """W(n+1) = max(0, W(n) + S(n) − A(n)), with S from when a request could be begun."""
    before = np.concatenate([received[:1], done[:-1]])
    service = (done - np.maximum(received, before)).tolist()
    gaps = np.diff(due).tolist()
    waits = [0]
    for took, gap in zip(service, gaps, strict=False):
        waits.append(max(0, waits[-1] + took - gap))
    return np.array([wait + took for wait, took in zip(waits, service, strict=False)]) / 1e6


def until(rate_per_s: float, seed: int, seconds: float) -> Iterator[int]:
    """The schedule's offsets that lie inside so many seconds."""
    for each in arrivals("poisson", rate_per_s, seed):
        if each >= seconds * 1e9:
            return
        yield each


def generate(
    url: str, rate_per_s: float, seconds: float, seed: int, processes: int
) -> dict[str, Any]:
    """What the generator prints; an invalid result (exit code 1) counts here, too."""
    options = (f"--rate={rate_per_s}", f"--seed={seed}", f"--processes={processes}")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "workers.services.load", url, "--json", "--histograms"),
            *(*options, f"--seconds={seconds}", "--warmup=0"),
        ],
        stdout=subprocess.PIPE,
        env=environment(),
    )
    summary: dict[str, Any] = json.loads(done.stdout)
    return summary
