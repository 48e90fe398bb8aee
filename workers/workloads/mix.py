"""Light requests among heavy ones: what becomes of the light ones."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from workers import Worker, parameter
from workers.workloads.parts.mixed import LIGHT, heavy_path
from workers.workloads.parts.served import WITHOUT_HTTPTOOLS, Served, pool_in_use, size_pool
from workers.workloads.parts.servers import BaseServer


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

    # What a server with workers of its own serves (`workers.outside.commands`).
    application: ClassVar[str] = "workers.workloads.parts.mixed:wsgi"
    interface: ClassVar[str] = "wsgi"
    factory: ClassVar[bool] = False
    lifespan: ClassVar[str] = "off"
    health: ClassVar[str] = LIGHT
    budgets: ClassVar[str] = ""
    command: ClassVar[str] = ""

    @property
    def threads(self) -> int:
        """Threads of each worker of a server without loops."""
        return self.connections

    def client_requests(self) -> list[dict[str, Any]]:
        """Light and heavy requests by their shares; none of a kind that has no share."""
        every = [
            {"path": LIGHT, "weight": 100 - self.heavy_percent, "status": 200},
            {**self._heavy, "weight": self.heavy_percent, "background": True},
        ]
        return [each for each in every if each["weight"] > 0]

    @property
    def _heavy(self) -> dict[str, Any]:
        return {"path": heavy_path(self.heavy, self.heavy_ms), "status": 200}

    def refuses(self, model: str, loop: str) -> str | None:
        """Sub-interpreters load neither httptools nor uvloop."""
        if model == "interpreters":
            return WITHOUT_HTTPTOOLS
        if self.pool and (self.server != "loops" or self.heavy_in != "thread"):
            return "pool sizes the pools of loops: it needs server=loops and heavy_in=thread"
        if self.server != "loops":
            from workers.outside.commands import refusal  # costs the others memory

            return refusal(self, model, loop)
        return super().refuses(model, loop)

    def load(self) -> None:
        """Import the server."""
        if self.server == "loops":
            import workers.workloads.parts.servers.mixed  # noqa: F401 - before threads, and a fork
        else:
            from workers.outside.commands import require

            require(self.server)

    async def start(self, worker: Worker) -> BaseServer:
        """Start the server, and try it with one heavy request, which shows where it is done."""
        from workers.workloads.parts.servers.mixed import Mixed, make

        application = Mixed(in_thread=self.heavy_in == "thread")
        size_pool(self.pool)
        server = make(worker, application)
        facts = await self.begin(server, self._heavy)
        self._facts = {**facts, "heavy_in": application.heavy_in, **await pool_in_use(self.pool)}
        return server
