"""Is the load generator quick enough, and does it say what wrk says?

Both send to the null server over as many connections, in turn, with the same scheduling slice. The
server is slower than either, so both have to count as many answers. "Per core" is answers per
second of CPU time of whoever sends: it holds on a busy machine, too.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import NamedTuple

from tests.benchmarks.figure import Effort, Figure
from tests.benchmarks.queue import generated
from tests.support.servers import running_site
from workers.services.load.sending import ask_for_slice

CONNECTIONS = 64
WRK = shutil.which("wrk")


class Sent(NamedTuple):
    """Answers a second, and answers per second of the sender's CPU time."""

    per_s: float
    per_core_s: float


def figures(effort: Effort) -> Iterator[Figure]:
    """Ours over wrk's, by rounds whose order alternates, and how late the generator is alone."""
    if WRK is None:
        print("wrk is not installed, so nothing is compared", file=sys.stderr)
        return
    fixed = (f"--seconds={effort.window_s}", "--warmup=0.2", f"--connections={CONNECTIONS}")
    with running_site(command=null_server) as url:
        found: dict[bool, list[Sent]] = {True: [], False: []}  # whether ours
        for number in range(effort.pairs):
            for is_ours in (True, False) if number % 2 else (False, True):
                sent = closed_loop(url, fixed) if is_ours else wrk(url, effort.window_s)
                found[is_ours].append(sent)
        pairs = list(zip(found[True], found[False], strict=True))
        last = "last pair: {:,.0f} and {:,.0f} answers/s"
        per_core = [ours.per_core_s / theirs.per_core_s for ours, theirs in pairs]
        detail = last.format(*(each.per_core_s for each in pairs[-1]))
        yield Figure("wrk: per core, ours / wrk", per_core, 0.4, detail=detail)
        rates = [ours.per_s / theirs.per_s for ours, theirs in pairs]
        detail = last.format(*(each.per_s for each in pairs[-1]))
        yield Figure("wrk: answers/s, ours / wrk", rates, 0.95, detail=detail)
        options = ("--rate=1000", "--arrivals=constant", *fixed)
        slips = [generated(url, *options)["slip_ms"]["p95"] for _ in range(effort.pairs)]
        yield Figure("wrk: P95 of slip at 1,000/s", slips, unit=" ms")


def null_server(*options: str) -> list[str]:
    """The command of a server that answers every request alike."""
    return [sys.executable, "-m", "workers.services.null", *options]


def closed_loop(url: str, fixed: tuple[str, ...]) -> Sent:
    """Our closed loop, one process."""
    summary = generated(url, "--rate=max", *fixed)
    return Sent(summary["rate_per_s"], summary["rate_per_s"] / summary["busy_fraction"])


def wrk(url: str, window_s: float) -> Sent:
    """Wrk with one thread; it takes whole seconds."""
    seconds = max(1, round(window_s))
    command = [str(WRK), "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", url]
    ask_for_slice()  # which wrk inherits
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout
        printed = running.stdout.read()
        _, status, used = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
    found = re.search(r"(\d+) requests in ([\d.]+)(m?)s", printed)
    if found is None:
        raise SystemExit(f"wrk printed no result\n{printed}")
    answers, took_s = int(found[1]), float(found[2]) / (1_000 if found[3] else 1)
    return Sent(answers / took_s, answers / (used.ru_utime + used.ru_stime))
