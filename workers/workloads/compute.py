"""The positive control: pure Python that shares nothing."""

from dataclasses import dataclass
from functools import partial

from workers import Worker, Workload, parameter
from workers.workloads.parts.turns import call_back, turns


@dataclass
class Compute(Workload):
    """Pure Python in callbacks, nothing shared: must scale with cores where there is no GIL.

    One operation: one callback of `iterations` turns. The figure is not a measure of the loop
    (a callback costs far less than what it runs) and not of any real program.
    """

    operation = "callbacks"

    iterations: int = parameter(1_000, "turns of a pure-Python loop in a callback", at_least=1)

    async def run(self, worker: Worker) -> None:
        """Call back again and again until stopped."""
        await call_back(worker, partial(turns, self.iterations))
