"""Light requests among heavy ones: what becomes of the light ones."""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from workers import Worker, parameter
from workers.cell import LOOPS
from workers.workloads.parts.heavy import BODY, LIGHT, heavy_path, heavy_work
from workers.workloads.parts.served import (
    WITHOUT_HTTPTOOLS,
    Served,
    pool_in_use,
    preload,
    server_of,
    size_pool,
)
from workers.workloads.parts.servers import BaseServer

if TYPE_CHECKING:  # imported where it is used: a server without loops needs none of it
    from workers.workloads.parts.commands import Hosted
    from workers.workloads.parts.servers.on_uvicorn import Message, Receive, Send


@dataclass
class Mix(Served):
    """Light requests, answered at once, among heavy ones that need 20 ms of CPU time.

    One operation: one request answered, light or heavy. Latencies are those of the light ones;
    heavy ones are background requests, whose latency is in columns of its own. Light and heavy
    answers have a body of 256 bytes.

    `loops` is a small ASGI application on uvicorn with httptools, on each loop. Heavy work is done
    there on the loop, which answers nothing else meanwhile, or (`heavy_in=thread`) in the loop's
    own pool of `pool` threads, or min(32, CPUs + 4), by `asyncio.to_thread`. `gunicorn-gthread`
    answers the same requests by a WSGI application in threads without a loop: as many threads per
    worker as connections, so both sides can have as many requests in flight. Workers in threads
    share one process, others have one each. Its HTTP parser is pure Python, and its connections
    come from a listener of its own.

    `native` work is one call that lets other threads have the GIL (PBKDF2 in OpenSSL), `python`
    work never does that by itself. Both are counted, not timed: a nominal ms is the same work on
    every build.
    """

    server: Literal["loops", "gunicorn-gthread"] = parameter("loops", "what answers")
    heavy: Literal["python", "native"] = parameter("python", "what heavy requests run")
    heavy_in: Literal["loop", "thread"] = parameter("loop", "where heavy work is done on a loop")
    heavy_ms: float = parameter(20.0, "CPU time of a heavy request, nominal ms", at_least=0)
    heavy_percent: float = parameter(5.0, "heavy requests among all, in percent", at_least=0)
    pool: int = parameter(0, "threads in each loop's pool; 0: as many as asyncio has", at_least=0)

    alone: ClassVar[str | None] = "a heavy request takes as long as a slice"

    def hosted(self) -> "Hosted":
        from workers.workloads.parts.commands import Hosted

        wsgi = "workers.workloads.parts.heavy:wsgi"
        return Hosted(self.server, wsgi, "wsgi", health=LIGHT, threads=self.connections)

    def client_requests(self) -> list[dict[str, Any]]:
        every = [
            {"path": LIGHT, "weight": 100 - self.heavy_percent, "status": 200},
            {**self._heavy, "weight": self.heavy_percent, "background": True},
        ]
        return [each for each in every if each["weight"] > 0]

    @property
    def _heavy(self) -> dict[str, Any]:
        return {"path": heavy_path(self.heavy, self.heavy_ms), "status": 200}

    def refuses(self, model: str, loop: str) -> str | None:
        if model == "interpreters":
            return WITHOUT_HTTPTOOLS
        if self.pool and (self.server != LOOPS or self.heavy_in != "thread"):
            return "pool sizes the pools of loops: it needs server=loops and heavy_in=thread"
        if self.server != LOOPS:
            from workers.workloads.parts.commands import refusal  # costs the others memory

            return refusal(self.hosted(), model, loop)
        return super().refuses(model, loop)

    def load(self) -> None:
        if self.server == LOOPS:
            preload("asgi")
        else:
            from workers.workloads.parts.commands import require

            require(self.server)

    async def start(self, worker: Worker) -> BaseServer:
        application = MixApplication(in_thread=self.heavy_in == "thread")
        size_pool(self.pool)
        server = server_of("asgi", worker, application, lifespan="on")
        facts = await self.begin(server, self._heavy)
        self._facts = {**facts, "heavy_in": application.heavy_in, **await pool_in_use(self.pool)}
        return server


class MixApplication:
    """The ASGI application of one loop.

    Heavy work is done on the loop, which answers nothing else meanwhile, or `in_thread`: in the
    loop's own pool of threads. `heavy_in` is where it really was: `loop` or `thread`.
    """

    def __init__(self, *, in_thread: bool) -> None:
        from workers.workloads.parts.servers.on_uvicorn import lifespan, respond

        self._lifespan, self._respond = lifespan, respond
        self._in_thread = in_thread
        self.heavy_in = ""

    async def __call__(self, scope: "Message", receive: "Receive", send: "Send") -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        work = heavy_work(scope["path"])
        if work is None and scope["path"] != LIGHT:
            await self._respond(send, 404, b"not found")
            return
        if work and self._in_thread:
            await asyncio.to_thread(self._do, work, threading.get_ident())
        elif work:
            self._do(work, threading.get_ident())
        await self._respond(send, 200, BODY)

    def _do(self, work: Callable[[], object], loop_thread: int) -> None:
        self.heavy_in = "loop" if threading.get_ident() == loop_thread else "thread"
        work()
