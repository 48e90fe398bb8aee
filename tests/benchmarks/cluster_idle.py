"""What the engine of a cluster takes on a host while a window is open, in CPU time.

    python -m tests.benchmarks.cluster_idle [SECONDS]

A worker as we start it (`scaling.run.cluster.worker`) beside one as dask starts it, both with a
task that sleeps, as the task that measures does: CPU seconds of the process per second, from
`/proc/PID/stat`, and how often it was on a CPU, from `schedstat`.
"""

import os
import sys
import time
from pathlib import Path

from distributed import get_worker

from scaling.run.cluster import on_host
from scaling.run.cluster.engine import Cluster, Host, started
from scaling.run.cluster.on_host import RESOURCES


def sleeps(seconds: float, *, idle: bool) -> tuple[int, float, int]:
    """PID, CPU seconds and turns on a CPU of this worker over so many seconds."""
    if idle:
        with on_host.idle(get_worker()):
            return _over(seconds)
    return _over(seconds)


def _over(seconds: float) -> tuple[int, float, int]:
    before = _used()
    time.sleep(seconds)
    cpu_ns, turns = (after - was for after, was in zip(_used(), before, strict=True))
    return os.getpid(), cpu_ns / 1e9, turns


def _used() -> tuple[int, int]:
    """CPU ns and turns of all threads."""
    read = [each.read_text().split() for each in Path("/proc/self/task").glob("*/schedstat")]
    return sum(int(each[0]) for each in read), sum(int(each[2]) for each in read)


def measured(cluster: Cluster, seconds: float, *, idle: bool) -> str:
    """A line of the table."""
    (address,) = cluster.addresses.values()
    future = cluster.client.submit(
        sleeps, seconds, idle=idle, workers=[address], resources=RESOURCES, pure=False, retries=0
    )
    _, cpu_s, turns = future.result()
    return f"{cpu_s / seconds:.3%} of a CPU, on a CPU {turns / seconds:.0f} times a second"


def main(seconds: float) -> None:
    """Print what each takes."""
    with started([Host("ours")]) as cluster:
        print("ours, in a window:     ", measured(cluster, seconds, idle=True))
        print("ours, between windows: ", measured(cluster, seconds, idle=False))
    plain = Host("dask", command=[sys.executable, "-c", PLAIN])
    with started([plain]) as cluster:
        print("dask's defaults:       ", measured(cluster, seconds, idle=False))


# The same worker without our settings: as `dask worker --no-nanny --nthreads 1` has it.
PLAIN = (
    "import sys, asyncio, scaling.run.cluster.worker as w; w.QUIET.clear(); "
    "asyncio.run(w.main([], sys.stdin.buffer))"
)

if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 20.0)
