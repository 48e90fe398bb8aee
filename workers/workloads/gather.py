"""Fan-outs: many tasks started and joined, in each of the ways that asyncio has for it."""

import asyncio
import time
from dataclasses import dataclass

from workers import Worker, Workload, parameter
from workers.workloads.parts.joins import JOINS, Join


@dataclass
class Gather(Workload):
    """Fan-outs of tasks, one joined before the next is started.

    One operation: one fan-out, its results collected in order and compared with what they must
    be. Fan-outs of different sizes do not compare by operations: `ns_per_task` is the same time
    over all tasks. The figure is not the cost of joining alone, since making and running the tasks
    is in it: what a way of joining costs is the difference between two of them.

    A fan-out of 1,000 is that of johal-2024, whose tasks sleep for 1 ms (`pause_ms`), and which
    claims that a TaskGroup is 8 % quicker and holds 14 % less than lists joined by `wait` or
    `gather`. Sizes from 10 to 100,000 show where a way of joining bends. Memory is read from
    outside; with all tasks of a fan-out alive at once, it wants a large one to be seen.

    The size of a fan-out is what is studied, so it stays as it is where a study is scaled: of a
    fan-out that is larger than all `tasks` one is done, in full.
    """

    operation = "fan-outs"
    finite = True
    scaled = ("tasks",)
    whole = "fan_out"

    tasks: int = parameter(1_000_000, "tasks per worker in all, in whole fan-outs", at_least=1)
    fan_out: int = parameter(1_000, "tasks started and joined together", at_least=1)
    join: Join = parameter("TaskGroup", "how they are joined; list: awaited one after the other")
    pause_ms: float = parameter(0.0, "how long each task sleeps, ms", at_least=0)

    async def setup(self, worker: Worker) -> None:
        """Make the results that a fan-out must have."""
        self._expected = list(range(self.fan_out))

    async def run(self, worker: Worker) -> None:
        """Do one fan-out after the other, as many as have all the tasks."""
        task = self._pause if self.pause_ms else self._answer
        join, fan_out = JOINS[self.join], self.fan_out
        fan_outs = -(-self.tasks // fan_out)
        from_ns = time.monotonic_ns()
        for _ in range(fan_outs):
            if await join(task(number) for number in range(fan_out)) == self._expected:
                worker.operations += 1
            else:
                worker.fail("the results are not those of the tasks, in their order")
        worker.figures["ns_per_task"] = (time.monotonic_ns() - from_ns) / (fan_outs * fan_out)

    async def _answer(self, number: int) -> int:
        return number

    async def _pause(self, number: int) -> int:
        await asyncio.sleep(self.pause_ms / 1e3)
        return number
