"""A server on each worker's loop, loaded from outside by a load generator."""

from dataclasses import dataclass
from typing import Any, Literal

from workers import Worker, parameter
from workers.cell import share
from workers.workloads.parts.served import Served, load_server
from workers.workloads.parts.servers import BaseServer
from workers.workloads.parts.work import PerRequest, live_objects


@dataclass
class Serve(Served):
    """Requests answered by a server on each loop, sent by a load generator in other processes.

    One operation: one request answered, counted when the answer has been written. Each worker has
    its own application, started and warmed up by one request before anything is counted.

    `tcp` echoes messages of `response_bytes` in an asyncio protocol. `aiohttp` and `asgi`
    answer `GET /` with a body of `response_bytes`: an application on aiohttp.web, and a small ASGI
    application on uvicorn with httptools. `fastapi` is what people ship: `POST /orders`, a Pydantic
    model in and out, on the same uvicorn; its answers have at least 55 bytes.
    Access logs and debug mode are off, and idle connections are kept for 75 s. All else is as the
    servers have it by default.

    Connections are dealt evenly with `port` (each worker listens on its own) and `acceptor` (one
    thread accepts and deals). `shared` (one listening socket) and `reuseport` (the kernel's hash)
    are what people deploy; `connections_total` of each worker shows how even they are.

    With `garbage_per_request`, each request leaves as many objects that only the collector can
    free. With `heap_objects`, as many live ones are there for the collector to go through: `total`
    divides them among the workers, with `per-worker` each has them all.
    """

    server: Literal["tcp", "aiohttp", "asgi", "fastapi"] = parameter("tcp", "what answers")
    work_us: float = parameter(
        0.0, "CPU work per request, nominal µs (30 turns of a loop each)", at_least=0
    )
    wait_ms: float = parameter(0.0, "wait per request without using the CPU, ms", at_least=0)
    response_bytes: int = parameter(256, "bytes in the body of an answer", at_least=1)
    garbage_per_request: int = parameter(0, "cyclic objects made per request", at_least=0)
    heap_objects: int = parameter(0, "live objects, made before the measurement", at_least=0)
    heap: Literal["total", "per-worker"] = parameter(
        "total", "whether heap_objects are those of all workers or of each"
    )

    def client_scheme(self) -> str:
        return "tcp" if self.server == "tcp" else "http"

    def client_requests(self) -> list[dict[str, Any]]:
        return self._kind.requests(self.response_bytes)

    def load(self) -> None:
        self._kind = load_server(self.server)

    async def start(self, worker: Worker) -> BaseServer:
        """Make the live objects, start the server, and try it with one request."""
        count = self.heap_objects
        if self.heap == "total":
            count = share(count, worker.index, worker.workers)
        self._heap = live_objects(count)
        per_request = PerRequest(
            work_us=self.work_us, wait_ms=self.wait_ms, garbage=self.garbage_per_request
        )
        server = self._kind.make(worker, per_request, self.response_bytes)
        self._facts = await self.begin(server, self.client_requests()[0])
        return server

    async def run(self, worker: Worker) -> None:
        await super().run(worker)
        if self._heap:
            worker.figures["heap_objects_total"] = len(self._heap)
