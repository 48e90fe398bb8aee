"""Does finite work again and again: `python -m tests.benchmarks.rounds_program WORKLOAD JSON N`.

N loops in threads. Each line on standard input has one round done by all of them; the answer is
when the last one had finished (monotonic ns). The first answer comes once all are ready.
"""

import asyncio
import json
import sys
import threading
import time
from queue import SimpleQueue

from workers.worker.handle import Worker
from workers.worker.workload import build, load_workload


def main() -> None:
    """Do rounds until standard input ends."""
    name, parameters, count = sys.argv[1:]
    finished_ns: SimpleQueue[int] = SimpleQueue()
    orders: list[SimpleQueue[bool]] = [SimpleQueue() for _ in range(int(count))]

    def work(index: int) -> None:
        workload = build(load_workload(name), json.loads(parameters))
        worker = Worker(index, len(orders), {})
        with asyncio.Runner() as runner:
            runner.run(workload.setup(worker))
            finished_ns.put(time.monotonic_ns())
            while orders[index].get():
                runner.run(workload.run(worker))
                finished_ns.put(time.monotonic_ns())

    for index in range(len(orders)):
        threading.Thread(target=work, args=(index,)).start()
    print(max(finished_ns.get() for _ in orders), flush=True)
    for _ in sys.stdin:
        for order in orders:
            order.put(True)
        print(max(finished_ns.get() for _ in orders), flush=True)
    for order in orders:
        order.put(False)


if __name__ == "__main__":
    main()
