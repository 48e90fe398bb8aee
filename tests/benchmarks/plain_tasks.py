"""`python -m tests.benchmarks.plain_tasks WORKLOAD AMOUNT THREADS on|off`: scripts without us.

Each does what a workload of that name does, as anybody would write it: threads with a loop each,
released by a barrier, counting and checking their work; the collector on or off. Prints operations
a second, from the first start to the last finish, and CPU ns in each. Imports nothing of the
project.
"""

import asyncio
import gc
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple

IN_FLIGHT = 10_000
FAN_OUT = 1_000


class PlannedError(Exception):
    """One operation in 1,000."""


async def sleep(amount: int) -> int:
    """10,000 tasks that share the sleeps of 1 ms."""
    finished = failed = 0

    async def operation(number: int) -> None:
        await asyncio.sleep(0.001)
        if number % 1_000 == 0:
            raise PlannedError

    async def share(numbers: range) -> None:
        nonlocal finished, failed
        for number in numbers:
            try:
                await operation(number)
            except PlannedError:
                failed += 1
            else:
                finished += 1

    each = amount // IN_FLIGHT
    async with asyncio.TaskGroup() as group:
        for first in range(1, amount, each):
            group.create_task(share(range(first, first + each)))
    assert failed == amount // 1_000
    return finished + failed


async def spawn(amount: int) -> int:
    """All tasks at once, in a group."""
    ran = 0

    async def do_nothing() -> None:
        nonlocal ran
        ran += 1

    async with asyncio.TaskGroup() as group:
        for _ in range(amount):
            group.create_task(do_nothing())
    return ran


async def cancel(amount: int) -> int:
    """Batches of 10,000, cancelled once they sleep."""
    cancelled = 0

    async def task() -> None:
        nonlocal cancelled
        try:
            await asyncio.sleep(3_600)
        except asyncio.CancelledError:
            cancelled += 1
            raise

    for _ in range(0, amount, IN_FLIGHT):
        tasks = [asyncio.create_task(task()) for _ in range(IN_FLIGHT)]
        await asyncio.sleep(0)  # one turn of the loop, and all are asleep
        for each in tasks:
            each.cancel()
        await asyncio.wait(tasks)
    return cancelled


async def gather(amount: int) -> int:
    """Fan-outs of 1,000 in a group, their results looked at."""

    async def answer(number: int) -> int:
        return number

    expected = list(range(FAN_OUT))
    right = 0
    for _ in range(amount // FAN_OUT):
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(answer(number)) for number in range(FAN_OUT)]
        right += [task.result() for task in tasks] == expected
    return right


WORKLOADS: dict[str, Callable[[int], Awaitable[int]]] = {
    "sleep": sleep,
    "spawn": spawn,
    "cancel": cancel,
    "gather": gather,
}


class Reading(NamedTuple):
    """One thread's work."""

    operations: int
    started_ns: int
    finished_ns: int
    cpu_ns: int


def main(workload: str, amount: int, threads: int) -> tuple[float, float]:
    """Run a workload in so many threads; return what is printed."""
    barrier = threading.Barrier(threads)
    readings: list[Reading] = []

    async def measure() -> None:
        barrier.wait()
        started_ns, cpu_ns = time.monotonic_ns(), time.thread_time_ns()
        operations = await WORKLOADS[workload](amount)
        finished_ns, cpu_ns = time.monotonic_ns(), time.thread_time_ns() - cpu_ns
        readings.append(Reading(operations, started_ns, finished_ns, cpu_ns))

    running = [threading.Thread(target=asyncio.run, args=(measure(),)) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    operations = sum(each.operations for each in readings)
    assert operations == threads * (amount // FAN_OUT if workload == "gather" else amount)
    took_ns = max(each.finished_ns for each in readings) - min(each.started_ns for each in readings)
    return operations * 1e9 / took_ns, sum(each.cpu_ns for each in readings) / operations


if __name__ == "__main__":
    if sys.argv[4] == "off":
        gc.disable()
    print(*main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
