"""Is the load generator quick enough, and does it say what wrk says?

Both send to the same server over as many connections, in turn, with the same scheduling slice.
"Per core" is requests per second of CPU time of whoever sends: it holds on a busy machine, too.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from tests.benchmarks.figure import Effort, Figure
from tests.benchmarks.generator import generated
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


def figures(effort: Effort) -> Iterator[Figure]:
    """Throughput over wrk's on two servers, and how late the generator is on its own."""
    if WRK is None or NGINX is None:
        print("wrk or nginx is not installed, so nothing is compared", file=sys.stderr)
        return
    with running_nginx() as url:
        pairs = alternated(url, effort)
        per_core = [ours.per_core_s / theirs.per_core_s for ours, theirs in pairs]
        detail = f"last pair: {pairs[-1][0].per_core_s:,.0f} and {pairs[-1][1].per_core_s:,.0f}"
        yield Figure("wrk: per core, ours / wrk", per_core, PER_CORE_TARGET, detail=detail)
        options = ("--rate=1000", "--arrivals=constant", *_fixed(effort))
        slips = [generated(url, *options)["slip_ms"]["p95"] for _ in range(effort.pairs)]
        yield Figure("wrk: P95 of slip at 1,000/s", slips, unit=" ms")
    with running_site("--delay-ms=0", command=site) as url:
        pairs = alternated(f"{url}/news", replace(effort, pairs=SAME_ROUNDS * effort.pairs))
        rates = [ours.per_s / theirs.per_s for ours, theirs in pairs]
        detail = f"last pair: {pairs[-1][0].per_s:,.0f} and {pairs[-1][1].per_s:,.0f} answers/s"
        yield Figure("wrk: answers/s of aiohttp, ours / wrk", rates, SAME_TARGET, detail=detail)


def site(*options: str) -> list[str]:
    """A server that is slower than either generator, without the tests' debug mode."""
    return [sys.executable, "-m", "workers.services.site", "--pages=2", *options]


def alternated(url: str, effort: Effort) -> list[tuple[Sent, Sent]]:
    """Ours and wrk's, by rounds whose order alternates."""
    pairs = []
    for number in range(effort.pairs):
        if number % 2:
            theirs, ours = wrk(url, effort), closed_loop(url, effort)
        else:
            ours, theirs = closed_loop(url, effort), wrk(url, effort)
        pairs.append((ours, theirs))
    return pairs


def closed_loop(url: str, effort: Effort) -> Sent:
    """Our closed loop, one process."""
    summary = generated(url, "--rate=max", *_fixed(effort))
    per_s = summary["rate_per_s"]
    return Sent(per_s, per_s / summary["busy_fraction"])


def _fixed(effort: Effort) -> tuple[str, ...]:
    return f"--seconds={effort.window_s}", "--warmup=0.2", f"--connections={CONNECTIONS}"


def wrk(url: str, effort: Effort) -> Sent:
    """Wrk with one thread; it takes whole seconds."""
    assert WRK
    seconds = max(1, round(effort.window_s))
    ask_for_slice()  # which wrk inherits
    with subprocess.Popen(
        [WRK, "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", url], stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout
        printed = running.stdout.read()
        _, status, used = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
    found = re.search(r"(\d+) requests in ([\d.]+)(m?)s", printed)
    if found is None:
        raise SystemExit(f"wrk printed no result\n{printed}")
    answers, took_s = int(found[1]), float(found[2]) / (1_000 if found[3] else 1)
    return Sent(answers / took_s, answers / (used.ru_utime + used.ru_stime))
