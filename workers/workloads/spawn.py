"""Tasks that do nothing: what creating, scheduling and finishing one costs."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import repeat
from typing import Literal

from workers import Worker, Workload, parameter
from workers.loops.libraries import library
from workers.loops.registry import known_loop


@dataclass
class Spawn(Workload):
    """Tasks that do nothing, all created before the first is waited for.

    One operation: one task created, run, finished and freed; each adds one to a count that must
    come out exactly. The figure is not what tasks cost that do something: the scheduler, the
    allocator and the collector are all there is, and it may fall with the number of tasks, since
    all are alive at once. What one task holds is read from outside: the run's peak memory less its
    baseline, over all tasks (johal-2024 claims 14 % less for a TaskGroup than for a list: `wait`).

    100,000 to 1,000,000 tasks are those of factor-2025, whose program joins them by `wait`, takes
    CPU time where this is wall time, and stops its clock before they are freed. Tasks of 0.5 ms
    (`pause_ms`) are those of async-tools; uvloop counts whole ms and takes 0.5 for none. An eager
    task begins in `create_task`, and ends there if nothing makes it wait, but a TaskGroup has a
    callback for it on the loop all the same.
    """

    operation = "tasks"
    in_flight = "tasks"
    finite = True
    scaled = ("tasks",)
    libraries = ("asyncio", "trio", "anyio")

    tasks: int = parameter(100_000, "tasks per worker, all at once", at_least=1)
    factory: Literal["lazy", "eager"] = parameter(
        "lazy", "when a task begins: at the loop's next turn, or at once (asyncio alone)"
    )
    join: Literal["TaskGroup", "wait", "gather"] = parameter(
        "TaskGroup", "how all are waited for: a group, or (asyncio alone) a list"
    )
    pause_ms: float = parameter(0.0, "how long each task sleeps, ms", at_least=0)

    def refuses(self, model: str, loop: str) -> str | None:
        """Eager tasks and lists of them are asyncio's alone."""
        name = known_loop(loop).library
        if name == "asyncio" or (self.factory, self.join) == ("lazy", "TaskGroup"):
            return None
        return f"{name} has lazy tasks, joined by groups, and no others"

    async def setup(self, worker: Worker) -> None:
        """Find out how tasks are made and joined here."""
        spoken = library(worker.loop)
        self._sleep, self._join = spoken.sleep, spoken.join
        self._tasks_begin: AbstractContextManager[None] = nullcontext()
        if spoken.name == "asyncio":
            from workers.workloads.parts import spawn_on_asyncio as choices

            if self.join != "TaskGroup":
                self._join = {"wait": choices.wait, "gather": choices.gather}[self.join]
            if self.factory == "eager":
                self._tasks_begin = choices.eagerly()

    async def run(self, worker: Worker) -> None:
        """Create all tasks, wait for all, and hold the count against what was asked."""
        ran = 0
        sleep, pause_s = self._sleep, self.pause_ms / 1e3

        async def do_nothing() -> None:
            nonlocal ran
            ran += 1

        async def pause() -> None:
            nonlocal ran
            await sleep(pause_s)
            ran += 1

        with self._tasks_begin:
            await self._join(repeat(pause if self.pause_ms else do_nothing, self.tasks))
        worker.operations += ran
        if ran != self.tasks:
            worker.fail(f"{ran} of {self.tasks} tasks ran to their end")
