"""What does the host itself hold, beside an interpreter that runs an asyncio loop?"""

import subprocess
import sys
import time
from collections.abc import Iterator

import psutil

from tests.benchmarks.cells import run
from tests.benchmarks.figure import Effort, Figure
from tests.support.children import environment

TARGET_MIB = 3.0
MIB = 1 << 20
BARE = "import asyncio; asyncio.run(asyncio.sleep(60))"
SETTLED_S = 0.1  # between two equal readings of memory


def figures(effort: Effort, *, free_threaded: bool) -> Iterator[Figure]:
    """MiB of a `compute` child at N = 1 above a bare loop of the same build, both from outside."""
    del free_threaded
    above, bare_mib = [], 0.0
    for _ in range(effort.pairs // 2):
        held = run("compute", effort.window_s).ending.memory.rss_bytes
        assert held is not None
        bare_mib = bare_bytes() / MIB
        above.append(held / MIB - bare_mib)
    detail = f"bare: {bare_mib:.1f} MiB"
    yield Figure("host of compute above bare loop", above, "at most", TARGET_MIB, " MiB", detail)


def bare_bytes() -> int:
    """RSS of a sleeping loop, once it stands still."""
    with subprocess.Popen([sys.executable, "-c", BARE], env=environment()) as process:
        held, before = 0, -1
        while held != before or held == 0:
            time.sleep(SETTLED_S)
            held, before = psutil.Process(process.pid).memory_info().rss, held
        process.kill()
    return held
