"""What the workloads that answer requests have in common: how they are loaded, and by what."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from workers import Worker, Workload, parameter
from workers.workloads.parts.accepting import Accepting
from workers.workloads.parts.servers.base import BaseServer


@dataclass
class Served(Workload):
    """Base of a workload with a server on each loop, loaded from outside; it needs `start`.

    One operation: one request answered, counted when the answer has been written.
    """

    operation = "requests"
    in_flight = "connections"
    descriptors = 1
    served = True
    alone: ClassVar[str | None] = None
    settle_s = 0.05  # from the first request of a slice

    connections: int = parameter(16, "connections per worker", at_least=1)
    rate_per_s: float = parameter(
        0.0, "requests due per second, all workers together; 0: a closed loop", at_least=0
    )
    arrivals: Literal["poisson", "constant"] = parameter("poisson", "gaps between due times")
    keep_alive: bool = parameter(True, "keep connections open; else each request opens one")
    accept: Literal["port", "acceptor", "shared", "reuseport"] = parameter(
        "port", "how connections reach the workers"
    )

    def __post_init__(self) -> None:
        """Begin with nothing that would have to be closed."""
        self._server: BaseServer | None = None
        self._accepting: Accepting | None = None
        self._facts: dict[str, str] = {}

    def refuses(self, model: str, loop: str) -> str | None:
        """Refuse an acceptor with rloop: rloop 0.5 takes no connection that others accepted."""
        if self.accept == "acceptor" and loop == "rloop":
            return "rloop cannot take a connection that another thread has accepted"
        return super().refuses(model, loop)

    def facts(self) -> dict[str, str]:
        """Server, parser, access log, debug mode, Date header: read from a connection."""
        return self._facts

    def variables(self) -> dict[str, str]:
        """Environment variables of its application, besides those of services and budgets."""
        return {}

    async def start(self, worker: Worker) -> BaseServer:
        """Set `_server`, start it and try it; return it, and leave what was seen in `_facts`.

        What it counts is forgotten. Once `_server` is set it is closed, whatever happens.
        """
        raise NotImplementedError(f"{type(self).__name__} has no start()")

    async def setup(self, worker: Worker) -> None:
        """Start the server, try it, then take connections."""
        server = await self.start(worker)
        worker.operations = worker.bytes = worker.errors = 0  # those requests were ours
        worker.error_samples.clear()
        self._accepting = Accepting(server.protocol)
        await self._accepting.begin(worker)

    async def run(self, worker: Worker) -> None:
        """Answer until stopped."""
        await worker.stopped()
        assert self._accepting
        assert self._server
        made = self._accepting.connections
        worker.figures["connections_total"] = made - self._server.unused

    async def teardown(self, worker: Worker) -> None:
        """Take no more connections, and close those that there are; then end the application."""
        if self._accepting:
            await self._accepting.close()
        elif worker.inbound:  # the server did not start
            worker.inbound[1].close()
        if self._server:
            await self._server.close()
