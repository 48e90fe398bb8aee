"""Does the load generator measure what queueing theory says it must?

A server takes about 2 ms for each request, one at a time, and logs its times. The Lindley recursion
on the same seeded arrivals and the logged service times gives the latency of every request; what
was measured is compared with that. The recursion does not know how late the generator sent nor how
late it read, so a busy machine adds to the difference. The logged answers, counted from when they
were due, know the one. Two generator processes are compared with one on the same arrivals.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from scaling.analysis.arrays import Floats, Integers
from tests.benchmarks.figure import Effort, Figure
from tests.support.children import environment
from tests.support.servers import last_words, ready, start
from workers.services.load.part import arrivals
from workers.services.load.tally import Distribution

SERVICE_MS = 2.0
SLEEP_MS = 1.9  # of it; the rest is late wake-ups and system calls
WINDOWS_S = 8  # seconds of a run, for each second of a benchmark's window


class Outcome(NamedTuple):
    """Mean and P99 latency, ms: as measured, by theory, and from due to answered by the log."""

    measured: Floats
    expected: Floats
    logged: Floats
    slip_mean: float


def figures(effort: Effort) -> Iterator[Figure]:
    """How far measured latency is from theory, and two processes from one."""
    for load in (0.5, 0.7):
        found = [run(effort, load, seed) for seed in range(effort.pairs)]
        logged = np.median([abs(each.measured / each.logged - 1)[0] for each in found])
        slip = np.median([each.slip_mean for each in found])
        detail = f"from the answers as logged: {logged:.3f}; mean slip {slip:.3f} ms"
        means, tails = np.transpose([abs(each.measured / each.expected - 1) for each in found])
        yield Figure(f"queue: mean / Lindley - 1, at {load}", means, at_most=0.02, detail=detail)
        yield Figure(f"queue: P99 / Lindley - 1, at {load}", tails, at_most=0.05)
    ratios = [
        (run(effort, 0.5, seed, processes=2).measured / run(effort, 0.5, seed).measured)[1]
        for seed in range(effort.pairs)
    ]
    yield Figure("queue: P99, two processes / one", ratios)


def run(effort: Effort, load: float, seed: int, processes: int = 1) -> Outcome:
    """Load a server of its own."""
    seconds = effort.window_s * WINDOWS_S
    rate_per_s = load * 1_000 / SERVICE_MS
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        with serving(log) as server:
            summary = generated(
                *(ready(server)["urls"][0], f"--rate={rate_per_s}", f"--seed={seed}"),
                *(f"--processes={processes}", f"--seconds={seconds}", "--warmup=0"),
            )
            last_words(server)
        received, done = np.loadtxt(log, dtype=np.int64).T
    offsets_ns = arrivals("poisson", rate_per_s, seed)
    due = np.array([*takewhile(lambda each: each < seconds * 1e9, offsets_ns)])
    opens_ns, *_, closes_ns = summary["instants_ns"]
    ended = np.full(len(due), closes_ns)  # what is unfinished then has the latency so far
    ended[: len(done)] = np.minimum(done, closes_ns)
    latency = latencies(summary)
    return Outcome(
        np.array([latency.mean_ms or 0.0, latency.quantile_ms(0.99) or 0.0]),
        _mean_and_p99(lindley_ms(due[: len(done)], received, done)),
        _mean_and_p99((ended - opens_ns - due) / 1e6),
        summary["slip_ms"]["mean"],
    )


def serving(log: Path) -> AbstractContextManager["subprocess.Popen[str]"]:
    """Start the server, which answers one request at a time."""
    command = [sys.executable, "-m", "tests.support.queue_server", str(log), str(SLEEP_MS)]
    return start(command=lambda: command)


def generated(url: str, *options: str) -> dict[str, Any]:
    """What the load generator prints; an invalid result (exit code 1) counts here, too."""
    command = [sys.executable, "-m", "workers.services.load", url, "--json", "--histograms"]
    done = subprocess.run([*command, *options], stdout=subprocess.PIPE, env=environment())
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def latencies(summary: Mapping[str, Any]) -> Distribution:
    """Of answered and of unfinished requests."""
    windows = summary["windows"]
    return Distribution(each[name] for each in windows for name in ("latency", "censored"))


def lindley_ms(due: Integers, received: Integers, done: Integers) -> Floats:
    """W(n+1) = max(0, W(n) + S(n) − A(n)), with S from when a request could be begun."""
    before = np.concatenate([received[:1], done[:-1]])
    service = (done - np.maximum(received, before)).tolist()
    waits = [0]
    for took, gap in zip(service, np.diff(due).tolist(), strict=False):
        waits.append(max(0, waits[-1] + took - gap))
    return np.array([wait + took for wait, took in zip(waits, service, strict=False)]) / 1e6


def _mean_and_p99(latency_ms: Floats) -> Floats:
    return np.array([latency_ms.mean(), np.percentile(latency_ms, 99)])
