"""`python -m tests.benchmarks.bare_loop LOOP SECONDS main|thread`: echo without the harness.

The same two ends on a loop, two readings of the clocks, and nothing else. Prints round trips a
second, and CPU ns in each.
"""

import asyncio
import sys
import threading
import time

from workers.loops import load_loop
from workers.worker.handle import Worker
from workers.workloads.echo import ENDS, Echo, EchoSetup

WARMUP_S = 0.3


async def echo(window_s: float) -> tuple[float, float]:
    """Run echo with its defaults; return what is printed."""
    worker, defaults = Worker(0, 1, {}), Echo()
    payload = bytes(range(256)) * (defaults.payload_bytes // 256)
    ends = await ENDS[defaults.api](EchoSetup(worker, defaults.connections, payload))
    traffic = asyncio.gather(*(client.run() for client in ends.clients))
    await asyncio.sleep(WARMUP_S)
    began = readings(worker)
    await asyncio.sleep(window_s)
    wall_ns, cpu_ns, done = (
        after - before for before, after in zip(began, readings(worker), strict=True)
    )
    worker.stop()
    await traffic
    await ends.close()
    return done * 1e9 / wall_ns, cpu_ns / done


def readings(worker: Worker) -> tuple[int, int, int]:
    """Wall ns, CPU ns of this thread, and round trips, so far."""
    return time.monotonic_ns(), time.thread_time_ns(), worker.operations


def main(loop: str, window_s: float) -> None:
    """Measure in this thread."""
    with asyncio.Runner(loop_factory=load_loop(loop)) as runner:
        print(*runner.run(echo(window_s)))


if __name__ == "__main__":
    arguments = (sys.argv[1], float(sys.argv[2]))
    if sys.argv[3] == "main":
        main(*arguments)
    else:
        thread = threading.Thread(target=main, args=arguments)
        thread.start()
        thread.join()
