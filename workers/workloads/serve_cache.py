"""Requests that look up values in a cache: one for all loops, one in each process, or a server."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from workers import Worker
from workers.workloads.cache import Cache
from workers.workloads.parts.served import OnAsgi


@dataclass
class ServeCache(OnAsgi, Cache):
    """Requests, each of which looks up keys in a cache, on a server on each loop.

    One operation: one request answered, for which `lookups` keys are looked up, one after the
    other. Caches, keys and what a miss costs are those of `cache`. `connections` are those of the
    clients, and as many that each worker has to Valkey or to the database. The server is a small
    ASGI application on uvicorn with httptools; a body has 256 bytes.
    """

    async def prepare(self, worker: Worker) -> Callable[[], Awaitable[None]]:
        await Cache.setup(self, worker)
        if self._look_ups:
            return self.waiting(self._look_ups)
        look_up_next = self.looking_up()

        async def look_up() -> None:
            look_up_next()

        return look_up

    async def run(self, worker: Worker) -> None:
        with self.counting_hits(worker):
            await OnAsgi.run(self, worker)

    async def teardown(self, worker: Worker) -> None:
        await OnAsgi.teardown(self, worker)
        await Cache.teardown(self, worker)
