"""How long does a child take to its window, beyond the warm-up?"""

import sys
from collections.abc import Iterator

from scaling.run.services import Services
from tests.benchmarks.cells import run
from tests.benchmarks.figure import Effort, Figure
from tests.support.children import environment

STANDARD_LIBRARY_S = 0.5
WITH_AIOHTTP_S = 1.0
LIMITS_S = {
    "compute": STANDARD_LIBRARY_S,
    "shared": STANDARD_LIBRARY_S,
    "echo": STANDARD_LIBRARY_S,
    "stream": STANDARD_LIBRARY_S,
    "scrape": WITH_AIOHTTP_S,
}
WINDOW_S = 0.1  # it is not the window that is looked at


def figures(effort: Effort, *, free_threaded: bool) -> Iterator[Figure]:
    """Seconds for each workload at N = 1 and 4."""
    del free_threaded
    with Services(sys.executable, environment()) as services:
        for workload, limit_s in LIMITS_S.items():
            urls = {"site": services.need("site", {})} if workload == "scrape" else {}
            for workers in (1, 4):
                starts_s = [
                    run(workload, WINDOW_S, workers=workers, services=urls).start_s
                    for _ in range(effort.pairs // 2)
                ]
                name = f"start of {workload}, N = {workers}"
                yield Figure(name, starts_s, "at most", limit_s, unit=" s")
