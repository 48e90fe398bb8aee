"""How long does a child take to its window, beyond the warm-up?"""

import sys
import time
from collections.abc import Iterator

from scaling.run.services import Services
from tests.benchmarks.figure import Effort, Figure
from tests.benchmarks.runs import measured, run
from tests.support.children import environment
from tests.support.serving import WARMUP_S, served

STANDARD_LIBRARY_S, WITH_AIOHTTP_S, SERVED_S = 0.5, 1.0, 0.7
LIMITS_S = {
    "compute": STANDARD_LIBRARY_S,
    "echo": STANDARD_LIBRARY_S,
    "scrape": WITH_AIOHTTP_S,
}
WINDOW_S = 0.1  # it is not the window that is looked at


def figures(effort: Effort) -> Iterator[Figure]:
    """Seconds for each workload at N = 1 and 4; of a served one with its generator."""
    repeats = range(effort.pairs // 2)
    with Services(sys.executable, environment()) as services:
        for workload, limit_s in LIMITS_S.items():
            urls = {"site": services.need("site", {})} if workload == "scrape" else {}
            for workers in (1, 4):
                starts_s = [
                    run(workload, WINDOW_S, workers=workers, services=urls).start_s for _ in repeats
                ]
                name = f"start of {workload}, N = {workers}"
                yield Figure(name, starts_s, at_most=limit_s, unit=" s")
    starts_s = [start_of_served() for _ in repeats]
    yield Figure("start of serve with its load, N = 1", starts_s, at_most=SERVED_S, unit=" s")


def start_of_served() -> float:
    """The generator's start and connections are part of it."""
    asked_ns = time.monotonic_ns()
    record = measured(served("workers.workloads.serve:Serve", window_s=WINDOW_S))
    assert record.instants_ns.opened is not None
    return (record.instants_ns.opened - asked_ns) / 1e9 - WARMUP_S
