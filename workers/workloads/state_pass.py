"""One pass over a read-mostly structure: what the first reading of an object costs."""

from dataclasses import dataclass
from typing import Literal

from workers import Worker, parameter
from workers.workloads.state import KINDS, OnState


@dataclass
class StatePass(OnState):
    """State read once from end to end, by all workers at the same time: first or later pass.

    One operation: one object read (one field of it), in the order in which they were made. Workers
    begin at different places. With `made_by=process` threads read what another thread has made, and
    forked processes what their parent has; with `made_by=loop` each reads its own. A `later` pass
    follows another one of the same worker, before the release.
    """

    operation = "reads"
    finite = True
    scaled = ("objects",)
    alone = "it is one pass, which cannot be divided into rounds"

    which: Literal["first", "later"] = parameter("first", "which pass over the objects it is")

    async def setup(self, worker: Worker) -> None:
        """Make the state, unless the process has it; read it once, for a later pass."""
        self._state = self.state()
        if self.which == "later":
            self._read(0)

    async def run(self, worker: Worker) -> None:
        total = self._read(self.objects * worker.index // worker.workers)
        if total != KINDS[self.kind].expected(range(self.objects)):
            worker.fail("the state that was read is not the one that was made")
        worker.operations += self.objects

    def _read(self, begin: int) -> int:
        objects, read = self._state, KINDS[self.kind].read
        return read(objects, range(begin, self.objects)) + read(objects, range(begin))
