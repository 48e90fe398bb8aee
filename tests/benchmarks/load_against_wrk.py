"""Is the load generator quick enough, and does it say what wrk says?

Both send to the same server over as many connections, in turn, with the same scheduling slice.
"Per core" is requests per second of CPU time of whoever sends: it holds on a busy machine, too.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from tests.benchmarks.figure import Effort, Figure
from tests.support.children import environment
from tests.support.null_server import NGINX, running_nginx
from tests.support.servers import running_site
from workers.services.load.sending import ask_for_slice

CONNECTIONS = 64
PER_CORE_TARGET = 0.4
SAME_TARGET = 0.95
SAME_ROUNDS = 2  # for each round of a benchmark: 5 % is little on a machine that others use
WRK = shutil.which("wrk")


class Sent(NamedTuple):
    """Answers a second, and answers per second of the sender's CPU time."""

    per_s: float
    per_core_s: float


def figures(effort: Effort, *, free_threaded: bool) -> Iterator[Figure]:
    """Throughput over wrk's on two servers, and how late the generator is on its own."""
    del free_threaded
    if WRK is None or NGINX is None:
        missing = "wrk" if WRK is None else "nginx"
        print(f"load: {missing} is not installed, so nothing is compared", file=sys.stderr)
        return
    with running_nginx() as url:
        pairs = alternated(url, effort)
        per_core = [ours.per_core_s / theirs.per_core_s for ours, theirs in pairs]
        detail = f"last pair: {pairs[-1][0].per_core_s:,.0f} and {pairs[-1][1].per_core_s:,.0f}"
        yield Figure("load: per core / wrk", per_core, "at least", PER_CORE_TARGET, detail=detail)
        rates = [ours.per_s / theirs.per_s for ours, theirs in pairs]
        yield Figure("load: answers/s of nginx / wrk", rates, "at least", None)
        slips = [
            generate(url, effort, "--rate=1000", "--arrivals=constant")["slip_ms"]["p95"]
            for _ in range(effort.pairs)
        ]
        yield Figure("load: P95 of slip at 1,000/s", slips, "at most", None, " ms")
    with running_site("--delay-ms=0", command=site) as url:
        pairs = alternated(f"{url}/news", replace(effort, pairs=SAME_ROUNDS * effort.pairs))
        rates = [ours.per_s / theirs.per_s for ours, theirs in pairs]
        detail = f"last pair: {pairs[-1][0].per_s:,.0f} and {pairs[-1][1].per_s:,.0f} answers/s"
        yield Figure(
            "load: answers/s of aiohttp / wrk", rates, "at least", SAME_TARGET, detail=detail
        )


def site(*options: str) -> list[str]:
    """A server that is slower than either generator, without the tests' debug mode."""
    return [sys.executable, "-m", "workers.services.site", "--pages=2", *options]


def alternated(url: str, effort: Effort) -> list[tuple[Sent, Sent]]:
    """Ours and wrk's, by rounds whose order alternates."""
    pairs = []
    for number in range(effort.pairs):
        if number % 2:
            theirs = wrk(url, effort.window_s)
            ours = closed_loop(url, effort)
        else:
            ours = closed_loop(url, effort)
            theirs = wrk(url, effort.window_s)
        pairs.append((ours, theirs))
    return pairs


def closed_loop(url: str, effort: Effort) -> Sent:
    """Our closed loop, one process."""
    summary = generate(url, effort, "--rate=max")
    per_s = summary["rate_per_s"]
    return Sent(per_s, per_s / summary["busy_fraction"])


def generate(url: str, effort: Effort, *options: str) -> dict[str, Any]:
    """What our generator prints; an invalid result (exit code 1) counts here, too."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "workers.services.load", url, "--json", *options),
            *(f"--seconds={effort.window_s}", "--warmup=0.2", f"--connections={CONNECTIONS}"),
        ],
        stdout=subprocess.PIPE,
        env=environment(),
    )
    summary: dict[str, Any] = json.loads(done.stdout)
    return summary


def wrk(url: str, seconds: float) -> Sent:
    """Wrk with one thread; it takes whole seconds."""
    assert WRK
    command = [WRK, "-t1", f"-c{CONNECTIONS}", f"-d{max(1, round(seconds))}s", url]
    ask_for_slice()  # which wrk inherits
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout
        printed = running.stdout.read()
        _, status, used = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
    found = re.search(r"(\d+) requests in ([\d.]+)(m?)s", printed)
    if found is None:
        raise SystemExit(f"load: wrk printed no result\n{printed}")
    answers, took_s = int(found[1]), float(found[2]) / (1_000 if found[3] else 1)
    return Sent(answers / took_s, answers / (used.ru_utime + used.ru_stime))
