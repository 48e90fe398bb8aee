"""What a loop of one's own costs: made, used once and closed, or made once and reused."""

import asyncio
from dataclasses import dataclass
from typing import Literal

from workers import Worker, Workload, parameter


@dataclass
class Lifecycle(Workload):
    """A loop made, used once and closed: `asyncio.run` each time, or one `asyncio.Runner` reused.

    One operation: one coroutine run to its end, the loop's making and closing included. The
    difference of the two ways, per operation, is what making and closing a loop costs; neither
    figure alone is that. johal-2024 runs 1,000 coroutines that sleep for 1 ms, and claims 12 ms for
    a loop and 87 % less set-up overhead with one Runner; the sleep is in both figures, and
    `pause_s=0` leaves the set-up alone. It says that the Runner is new in 3.13 and handles SIGTERM.
    CPython has had it since 3.11, and it handles SIGINT, in the main thread alone: workers that are
    threads are spared that part.
    """

    operation = "runs"
    finite = True
    makes_loops = True
    scaled = ("runs",)

    way: Literal["run", "runner"] = parameter(
        "run", "asyncio.run each time, or one asyncio.Runner for all"
    )
    runs: int = parameter(1_000, "coroutines run by each worker, one after the other", at_least=1)
    pause_s: float = parameter(0.001, "how long each coroutine sleeps, s", at_least=0)

    @classmethod
    def refuses(cls, model: str, loop: str) -> str | None:
        """What rloop 0.5.0 cannot do: it takes new descriptors for its waking at each run."""
        if (model, loop) == ("threads", "rloop"):
            return "rloop mixes up its descriptors where loops begin and end beside each other"
        return None

    def work(self, worker: Worker) -> None:
        """Run the coroutines; each must come back from a loop that is new, or the same."""
        {"run": self._by_run, "runner": self._by_runner}[self.way](worker)

    def _by_run(self, worker: Worker) -> None:
        before: asyncio.AbstractEventLoop | None = None  # kept, so that no other takes its place
        for _ in range(self.runs):
            loop = asyncio.run(self._once(), loop_factory=worker.loop_factory)
            if loop is before or not loop.is_closed():
                worker.fail("asyncio.run did not make a loop and close it")
            else:
                worker.operations += 1
            before = loop

    def _by_runner(self, worker: Worker) -> None:
        with asyncio.Runner(loop_factory=worker.loop_factory) as runner:
            own = runner.get_loop()
            for _ in range(self.runs):
                if runner.run(self._once()) is not own:
                    worker.fail("asyncio.Runner changed its loop")
                else:
                    worker.operations += 1

    async def _once(self) -> asyncio.AbstractEventLoop:
        await asyncio.sleep(self.pause_s)
        return asyncio.get_running_loop()
