"""Runs a workload in this very process, as a worker would, so that a test can reach into it."""

from workers import Worker, Workload
from workers.loops.runners import runner_for

ALL_LOOPS = ["asyncio", "uvloop", "trio", "anyio/asyncio", "anyio/trio"]


def run_alone(workload: Workload, loop: str = "asyncio", index: int = 0) -> Worker:
    """Set up, run and tear down a finite workload; return the worker that counted."""
    worker = Worker(index, index + 1, {}, loop)

    async def life() -> None:
        await workload.setup(worker)
        try:
            await workload.run(worker)
        finally:
            await workload.teardown(worker)

    runner_for(loop).run(life)
    return worker
