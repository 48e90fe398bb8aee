"""A server on each worker's loop, loaded from outside by a load generator."""

from dataclasses import dataclass
from typing import Literal

from workers import Worker, Workload, parameter
from workers.workloads.parts.accepting import Accepting
from workers.workloads.parts.servers.tcp import EchoServer


@dataclass
class Serve(Workload):
    """Requests answered by a server on each loop, sent by a load generator in other processes.

    One operation: one request answered.
    """

    operation = "requests"
    in_flight = "connections"
    descriptors = 1
    served = True

    connections: int = parameter(16, "connections per worker", at_least=1)
    rate_per_s: float = parameter(
        0.0, "requests due per second, all workers together; 0: a closed loop", at_least=0
    )
    arrivals: Literal["poisson", "constant"] = parameter("poisson", "gaps between due times")
    keep_alive: bool = parameter(True, "keep connections open; else each request opens one")
    accept: Literal["port", "acceptor", "shared", "reuseport"] = parameter(
        "port", "how connections reach the workers"
    )
    server: Literal["tcp"] = parameter("tcp", "what answers")

    def client_scheme(self) -> str:
        """TCP for the echo, else HTTP."""
        return self.server

    async def setup(self, worker: Worker) -> None:
        """Start to take connections."""
        self._accepting = Accepting(lambda: EchoServer(worker))
        await self._accepting.begin(worker)

    async def run(self, worker: Worker) -> None:
        """Answer until stopped."""
        await worker.stopped()
        worker.figures["connections_total"] = self._accepting.connections

    async def teardown(self, worker: Worker) -> None:
        """Take no more connections."""
        del worker
        await self._accepting.close()
