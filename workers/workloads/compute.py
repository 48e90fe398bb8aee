"""The positive control: pure-Python work that shares nothing."""

from dataclasses import dataclass
from functools import partial

from workers import Worker, Workload, parameter
from workers.workloads.parts.work import call_back, turns


@dataclass
class Compute(Workload):
    """Positive control: pure-Python work, nothing shared; must scale with cores without a GIL.

    One operation: one callback with `iterations` turns of a loop. The figure measures neither the
    event loop (scheduling a callback costs far less than its work) nor any real program.
    """

    operation = "callbacks"
    alone = None

    iterations: int = parameter(1_000, "turns of a pure-Python loop per callback", at_least=1)

    async def run(self, worker: Worker) -> None:
        await call_back(worker, partial(turns, self.iterations))
