"""Requests that read a read-mostly structure in memory."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from workers import Worker
from workers.workloads.parts.served import OnAsgi
from workers.workloads.state import State


@dataclass
class ServeState(OnAsgi, State):
    """Requests, each of which reads objects of a read-mostly state, on a server on each loop.

    One operation: one request answered, for which `reads` objects are read, by keys that were drawn
    beforehand. The state, its sharing and the reading before the measurement are those of `state`.
    The server is a small ASGI application on uvicorn with httptools; a body has 256 bytes.
    """

    async def prepare(self, worker: Worker) -> Callable[[], Awaitable[None]]:
        await State.setup(self, worker)
        read_next = self.reading(worker)

        async def read() -> None:
            read_next()

        return read
