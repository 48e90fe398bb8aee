"""Fan-outs: many tasks started and joined, in each way that asyncio offers."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from workers import Rounds, Worker, Workload, parameter

# -------------------------------------------------------------------------------------------- joins
# asyncio's ways to run many coroutines as tasks and collect all their results, in order.

type Many = Iterable[Coroutine[Any, Any, int]]

Join = Literal["TaskGroup", "gather", "wait", "list"]


async def by_task_group(coroutines: Many) -> list[int]:
    """With a `TaskGroup`, which the first failure would cancel."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(each) for each in coroutines]
    return [task.result() for task in tasks]


async def by_gather(coroutines: Many) -> list[int]:
    """With `gather`, which creates the tasks and orders the results itself."""
    return await asyncio.gather(*coroutines)


async def by_wait(coroutines: Many) -> list[int]:
    """With a list of tasks, awaited together by `asyncio.wait`."""
    tasks = [asyncio.create_task(each) for each in coroutines]
    await asyncio.wait(tasks)
    return [task.result() for task in tasks]


async def by_list(coroutines: Many) -> list[int]:
    """With a list of tasks, awaited one after the other."""
    tasks = [asyncio.create_task(each) for each in coroutines]
    return [await task for task in tasks]


JOINS: dict[Join, Callable[[Many], Awaitable[list[int]]]] = {
    "TaskGroup": by_task_group,
    "gather": by_gather,
    "wait": by_wait,
    "list": by_list,
}


# ------------------------------------------------------------------------------------------- gather


@dataclass
class Gather(Workload):
    """Fan-outs: tasks started and joined, one fan-out after the other.

    One operation: one fan-out, its results collected in order and compared with the expected ones.
    To compare fan-outs of different sizes, use `ns_per_task`, the same time divided by the number
    of tasks. The figure includes creating and running the tasks; the difference between two ways
    of joining is what one costs more than the other.

    A fan-out of 1,000 is that of johal-2024, whose tasks sleep for 1 ms (`pause_ms`). It claims
    that a TaskGroup is 8 % faster and uses 14 % less memory than lists joined by `wait` or
    `gather`. Sizes from 10 to 100,000 show where a way of joining stops scaling. All tasks of a
    fan-out are alive at once, so only a large one is visible in the memory figures.

    The size of a fan-out is what is studied, so scaling a study down leaves it as it is. If a
    fan-out is larger than all `tasks`, one whole fan-out is run.
    """

    operation = "fan-outs"
    finite = True
    scaled = ("tasks",)
    whole = "fan_out"
    alone = None
    rounds = Rounds("tasks", "fan_out", "pause_ms")

    tasks: int = parameter(
        1_000_000, "tasks per worker in total, rounded up to whole fan-outs", at_least=1
    )
    fan_out: int = parameter(1_000, "tasks started and joined together", at_least=1)
    join: Join = parameter("TaskGroup", "how tasks are joined; list: awaited one after the other")
    pause_ms: float = parameter(0.0, "how long each task sleeps, ms", at_least=0)

    async def setup(self, worker: Worker) -> None:
        self._expected = list(range(self.fan_out))
        self._tasks = self._took_ns = 0  # of all rounds

    async def run(self, worker: Worker) -> None:
        task = self._pause if self.pause_ms else self._answer
        join, fan_out = JOINS[self.join], self.fan_out
        fan_outs = -(-self.tasks // fan_out)
        from_ns = time.monotonic_ns()
        for _ in range(fan_outs):
            if await join(task(number) for number in range(fan_out)) == self._expected:
                worker.operations += 1
            else:
                worker.fail("wrong results, or in the wrong order")
        self._took_ns += time.monotonic_ns() - from_ns
        self._tasks += fan_outs * fan_out
        worker.figures["ns_per_task"] = self._took_ns / self._tasks

    async def _answer(self, number: int) -> int:
        return number

    async def _pause(self, number: int) -> int:
        await asyncio.sleep(self.pause_ms / 1e3)
        return number
