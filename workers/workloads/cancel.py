"""Cancelling tasks while they sleep: the cost of starting and cancelling one."""

from dataclasses import dataclass
from itertools import repeat

from workers import Rounds, Worker, Workload, parameter
from workers.loops import library


@dataclass
class Cancel(Workload):
    """Task cancellation: tasks are started, put to sleep and cancelled, batch after batch.

    One operation: one task created, asleep, cancelled and ended. Each task catches the
    cancellation, counts it and raises it again; the count must match exactly. The figure is not
    the cost of cancelling alone. It includes creating the task and its timer, and on asyncio also
    the timer heap, where cancelled timers stay until they are more than half of it. `settle_s` is
    the time from the first cancellation until the last task of a batch has ended, the mean over
    batches; `settle_max_s` is that of the slowest batch.

    1,000,000 tasks in batches of 10,000 are the parameters of johal-2024. That program cancels
    tasks before they have run a single step, so none can handle it, and the cancellation ends the
    program instead. Its sleep of 10 ms may also end before a batch has been created. Here the whole
    batch is asleep first, for far longer than that takes. The cancellation storm of async-tools is
    `tasks` = `batch` = 5,000, `after_ms` = 50. In trio and anyio one scope cancels the batch; in
    asyncio each task is cancelled on its own.
    """

    operation = "cancellations"
    in_flight = "batch"
    finite = True
    scaled = ("tasks", "batch")
    libraries = ("asyncio", "trio", "anyio")
    alone = None
    rounds = Rounds("tasks", "batch", "after_ms")

    tasks: int = parameter(1_000_000, "tasks per worker", at_least=1)
    batch: int = parameter(
        10_000, "tasks per worker that are alive at once and cancelled together", at_least=1
    )
    after_ms: float = parameter(
        0.0, "time from starting a batch until it is cancelled, ms", at_least=0
    )
    pause_s: float = parameter(
        3_600.0, "how long a task would sleep if not cancelled, s", at_least=0
    )

    async def setup(self, worker: Worker) -> None:
        self._library = library(worker.loop)
        self._settled_ns: list[int] = []  # each batch of all rounds

    async def run(self, worker: Worker) -> None:
        settled_ns = self._settled_ns
        for first in range(0, self.tasks, self.batch):
            settled_ns.append(await self._cancel(worker, min(self.batch, self.tasks - first)))
        worker.figures["settle_s"] = sum(settled_ns) / len(settled_ns) / 1e9
        worker.figures["settle_max_s"] = max(settled_ns) / 1e9

    async def _cancel(self, worker: Worker, size: int) -> int:
        """Start a batch, cancel it, check the count; return the ns until all had ended."""
        asleep = cancelled = 0
        sleep, pause_s, cancellation = self._library.sleep, self.pause_s, self._library.cancelled

        async def task() -> None:
            nonlocal asleep, cancelled
            asleep += 1
            try:
                await sleep(pause_s)
            except cancellation:
                cancelled += 1
                raise

        async def all_asleep() -> None:
            await sleep(self.after_ms / 1e3)
            while asleep < size:  # trio starts tasks in any order, this one among them
                await sleep(0)

        settled_ns = await self._library.cancel(repeat(task, size), all_asleep)
        worker.operations += cancelled
        if cancelled != size:
            worker.fail(f"{cancelled} of {size} tasks were cancelled while asleep")
        return settled_ns
