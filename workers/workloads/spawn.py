"""Tasks that do nothing: the cost of creating, scheduling and finishing one."""

from collections.abc import Coroutine, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Literal

from workers import Worker, Workload, parameter
from workers.loops import known_loop, library
from workers.loops.libraries import Begin


@dataclass
class Spawn(Workload):
    """Task creation: tasks that do nothing, all created before the first is awaited.

    One operation: one task created, run, finished and freed. Each adds one to a count, which must
    match exactly. The figure is the cost of scheduler, allocator and collector alone, not of tasks
    that do something. It may depend on the number of tasks, since all are alive at once. The memory
    of one task is the run's peak memory minus its baseline, divided by the number of tasks
    (johal-2024 claims 14 % less for a TaskGroup than for a list, which is `wait`).

    100,000 to 1,000,000 tasks are the sizes of factor-2025. That program joins them by `wait`,
    measures CPU time instead of wall time, and stops its clock before they are freed. Tasks of
    0.5 ms (`pause_ms`) are those of async-tools; uvloop's timers have a resolution of 1 ms, and it
    rounds 0.5 to 0. An eager task starts inside `create_task`, and ends there if it never waits; a
    TaskGroup still schedules a callback for it.
    """

    operation = "tasks"
    in_flight = "tasks"
    finite = True
    scaled = ("tasks",)
    libraries = ("asyncio", "trio", "anyio")
    alone = "its tasks are all alive at once, so its work cannot be divided into rounds"

    tasks: int = parameter(100_000, "tasks per worker, all alive at once", at_least=1)
    factory: Literal["lazy", "eager"] = parameter(
        "lazy", "when a task starts: in the loop's next iteration, or at once (asyncio only)"
    )
    join: Literal["TaskGroup", "wait", "gather"] = parameter(
        "TaskGroup", "how tasks are joined: in a group, or (asyncio only) as a list"
    )
    pause_ms: float = parameter(0.0, "how long each task sleeps, ms", at_least=0)

    def refuses(self, model: str, loop: str) -> str | None:
        name = known_loop(loop).library
        if name == "asyncio" or (self.factory, self.join) == ("lazy", "TaskGroup"):
            return None
        return f"{name} has only lazy tasks that are joined in groups"

    async def setup(self, worker: Worker) -> None:
        tasks = library(worker.loop)
        self._sleep, self._join = tasks.sleep, tasks.join
        self._tasks_begin: AbstractContextManager[None] = nullcontext()
        if self.join != "TaskGroup":
            self._join = {"wait": wait, "gather": gather}[self.join]
        if self.factory == "eager":
            self._tasks_begin = eagerly()

    async def run(self, worker: Worker) -> None:
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


# ------------------------------------------------------------------------------------------ asyncio
# Choices that only asyncio has: eager tasks, and joining lists of tasks. asyncio is imported
# inside: workers on trio do without.


@contextmanager
def eagerly() -> Iterator[None]:
    """Inside the block, make the running loop start tasks eagerly, in `create_task`."""
    import asyncio

    def eager(
        loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Any], **options: Any
    ) -> asyncio.Task[Any]:
        # Like `asyncio.eager_task_factory`, but always eager: from 3.13 on uvloop 0.23 passes
        # eager_start=None to any factory, which asyncio's own takes as False.
        options["eager_start"] = True
        return asyncio.Task(coroutine, loop=loop, **options)

    loop = asyncio.get_running_loop()
    before = loop.get_task_factory()
    loop.set_task_factory(eager)
    try:
        yield
    finally:
        loop.set_task_factory(before)


async def wait(begins: Iterable[Begin]) -> None:
    """Start a list of tasks, and wait for the list."""
    import asyncio

    await asyncio.wait([asyncio.create_task(begin()) for begin in begins])


async def gather(begins: Iterable[Begin]) -> None:
    """Gather the coroutines."""
    import asyncio

    await asyncio.gather(*[begin() for begin in begins])
