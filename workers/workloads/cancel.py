"""Tasks that are cancelled while they sleep: what starting and stopping one costs."""

from dataclasses import dataclass
from itertools import repeat

from workers import Worker, Workload, parameter
from workers.loops.libraries import library


@dataclass
class Cancel(Workload):
    """Tasks started and then cancelled, one batch after the other.

    One operation: one task created, asleep, cancelled and settled; each catches its cancelling,
    adds one to a count that must come out exactly, and passes it on. The figure is not what
    cancelling alone costs: making the task and its timer is in it, and on asyncio so is the timer
    heap, where cancelled timers stay until they are the larger half. `settle_s` is the time from
    the first cancelling until the last task of a batch has settled, mean over batches;
    `settle_max_s` that of the slowest.

    1,000,000 tasks in batches of 10,000 are those of johal-2024. Its program cancels tasks that
    have not run a single step: none of them can handle it, and it ends the program instead. Its
    sleep of 10 ms may also be over before a batch is made. Here the whole batch is asleep first,
    for far longer than that takes. The storm of async-tools is `tasks` = `batch` = 5,000,
    `after_ms` = 50. In trio and anyio one scope cancels the batch, on asyncio each task is
    cancelled by itself.
    """

    operation = "cancellations"
    in_flight = "batch"
    finite = True
    scaled = ("tasks", "batch")
    libraries = ("asyncio", "trio", "anyio")

    tasks: int = parameter(1_000_000, "tasks per worker", at_least=1)
    batch: int = parameter(10_000, "tasks per worker alive at once, cancelled together", at_least=1)
    after_ms: float = parameter(
        0.0, "how long a batch sleeps before it is cancelled, ms", at_least=0
    )
    pause_s: float = parameter(3_600.0, "how long a task would sleep otherwise, s", at_least=0)

    async def setup(self, worker: Worker) -> None:
        """Find out how tasks are cancelled here."""
        self._library = library(worker.loop)

    async def run(self, worker: Worker) -> None:
        """Cancel batch after batch; the last one is what is left."""
        settled_ns = [
            await self._cancel(worker, min(self.batch, self.tasks - first))
            for first in range(0, self.tasks, self.batch)
        ]
        worker.figures["settle_s"] = sum(settled_ns) / len(settled_ns) / 1e9
        worker.figures["settle_max_s"] = max(settled_ns) / 1e9

    async def _cancel(self, worker: Worker, size: int) -> int:
        """Start a batch, cancel it, hold the count against its size; return the ns to settle."""
        asleep = cancelled = 0
        sleep, pause_s, told = self._library.sleep, self.pause_s, self._library.cancelled

        async def task() -> None:
            nonlocal asleep, cancelled
            asleep += 1
            try:
                await sleep(pause_s)
            except told:
                cancelled += 1
                raise

        async def all_asleep() -> None:
            await sleep(self.after_ms / 1e3)
            while asleep < size:  # trio starts them in any order, and this task among them
                await sleep(0)

        settled_ns = await self._library.cancel(repeat(task, size), all_asleep)
        worker.operations += cancelled
        if cancelled != size:
            worker.fail(f"{cancelled} of {size} tasks were cancelled in their sleep")
        return settled_ns
