"""A read-mostly structure in memory, read by key on every worker's loop."""

from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar

from workers import Worker, parameter
from workers.worker.shared import of_process
from workers.workloads.parts.lookups import drawn, part_of
from workers.workloads.parts.state import OnState
from workers.workloads.parts.work import call_back


@dataclass
class State(OnState):
    """Read-mostly state: objects made once before the workers, read by key on every loop.

    One operation: one callback that reads `reads` objects, by keys that were drawn beforehand. An
    object has three fields (a number, a name, a price), of which one is read. Threads share the
    objects, which the main thread has made. Processes forked from the one that made them share its
    pages, but to read an object is to write its reference count, which copies the page. A fresh
    process, and a sub-interpreter, makes its own.

    Before it is measured each worker reads every object of the `read_percent` once. So memory at
    the window's end is that after this part was read; with 0 it is that after the fork, and an
    operation adds up as many numbers instead.
    """

    operation = "callbacks"
    alone: ClassVar[str | None] = None

    read_percent: float = parameter(100.0, "share of the objects that is read, %", at_least=0)
    zipf: float = parameter(
        0.0, "how hot keys are: the exponent of a Zipf law; 0: all alike", at_least=0
    )
    reads: int = parameter(100, "objects that an operation reads", at_least=1)

    def load(self) -> None:
        """Make the state, unless each loop makes its own, and draw the keys."""
        super().load()
        if self.is_placed:
            of = (self.objects, self.read_percent)
            self._part = of_process(of, lambda: part_of(*of))
            self._drawn = of_process((*of, self.zipf), lambda: drawn(self._part, self.zipf))

    async def setup(self, worker: Worker) -> None:
        """Read the part once, and take a copy of the keys.

        Raises:
            RuntimeError: what was read is not what was made.
        """
        self._state = self.state()
        objects, read, expected = self._state
        if read(objects, self._part) != expected(self._part):
            raise RuntimeError("the state that was read is not the one that was made")
        self._keys = self._drawn[:]

    def reading(self, worker: Worker) -> Callable[[], None]:
        """What reads the next `reads` objects; workers begin at different keys."""
        objects, read, _ = self._state
        keys, reads = self._keys, self.reads
        if not keys:
            objects, read, keys = None, _nothing, array("I", range(reads))
        keys *= 1 + reads // len(keys)
        last = len(keys) - reads
        at = last * worker.index // worker.workers

        def read_next() -> None:
            nonlocal at
            read(objects, keys[at : at + reads])
            at = at + reads if at + reads <= last else 0

        return read_next

    async def run(self, worker: Worker) -> None:
        """Read in one callback after another until stopped."""
        await call_back(worker, self.reading(worker))


def _nothing(_objects: None, keys: Iterable[int]) -> int:
    total = 0
    for key in keys:
        total += key
    return total
