"""The cost of an event loop's life: created, used once and closed, or created once and reused."""

import asyncio
from dataclasses import dataclass
from typing import Literal

from workers import Worker, Workload, parameter
from workers.cell import SHARING


@dataclass
class Lifecycle(Workload):
    """Loop creation: a coroutine by `asyncio.run` each time, or by one reused `asyncio.Runner`.

    One operation: one coroutine run to its end, including creating and closing the loop where that
    happens. The difference between the two ways, per operation, is the cost of creating and closing
    a loop; neither figure alone is. johal-2024 runs 1,000 coroutines that sleep for 1 ms, and
    claims 12 ms per loop and 87 % less set-up overhead with one Runner. The sleep is in both
    figures; `pause_s=0` leaves only the set-up. It says that Runner is new in 3.13 and handles
    SIGTERM. CPython has had it since 3.11, and it handles SIGINT, only in the main thread: workers
    that are threads skip that part.
    """

    operation = "runs"
    finite = True
    makes_loops = True
    scaled = ("runs",)
    alone = "its timers go on while it is stopped"

    way: Literal["run", "runner"] = parameter(
        "run", "asyncio.run for each coroutine, or one asyncio.Runner for all"
    )
    runs: int = parameter(1_000, "coroutines per worker, one after the other", at_least=1)
    pause_s: float = parameter(0.001, "how long each coroutine sleeps, s", at_least=0)

    @classmethod
    def refuses(cls, model: str, loop: str) -> str | None:
        """Refuse rloop in threads: rloop 0.5.0 opens new descriptors for wake-ups at each run."""
        if loop == "rloop" and model in SHARING:
            return "rloop mixes up its descriptors when several threads open and close loops"
        return None

    def work(self, worker: Worker) -> None:
        """Run the coroutines; check that each ran on a new loop, or on the same one."""
        {"run": self._by_run, "runner": self._by_runner}[self.way](worker)

    def _by_run(self, worker: Worker) -> None:
        before: asyncio.AbstractEventLoop | None = (
            None  # kept alive, so that a new loop cannot reuse its address
        )
        for _ in range(self.runs):
            loop = asyncio.run(self._once(), loop_factory=worker.loop_factory)
            if loop is before or not loop.is_closed():
                worker.fail("asyncio.run did not create a new loop and close it")
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
