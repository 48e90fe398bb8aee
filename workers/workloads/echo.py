"""TCP round trips between clients and a server on the same loop, over loopback."""

import asyncio
from dataclasses import dataclass
from typing import Literal

from workers import Worker, Workload, parameter
from workers.workloads.echo_ends import ENDS, Ends
from workers.workloads.turns import turns_of


@dataclass
class Echo(Workload):
    """TCP echo: every connection sends a payload and waits for all of it to come back.

    One operation: one round trip, which is four system calls and two wake-ups for the pair.
    Client and server share the worker's loop, so the figure is the cost of both together, not
    what a server alone would do. Payloads are the blog's and the literature's (1 KiB; 256 B,
    10 KiB, 100 KiB); fewer than 4 connections measure wake-ups instead of work.
    """

    operation = "round trips"
    in_flight = "connections"

    connections: int = parameter(8, "connections per worker, one payload each", at_least=1)
    payload_bytes: int = parameter(1024, "bytes sent and echoed", at_least=1)
    api: Literal["protocol", "buffered", "streams"] = parameter(
        "protocol", "asyncio's API at both ends"
    )
    work_us: float = parameter(0.0, "CPU work per operation, nominal µs", at_least=0)

    async def setup(self, worker: Worker) -> None:
        """Open the worker's own server, connect, and check one round trip of each connection."""
        self._ends: Ends | None = None
        payload = (bytes(range(256)) * -(-self.payload_bytes // 256))[: self.payload_bytes]
        open_ends = ENDS[self.api]
        self._ends = await open_ends(worker, self.connections, payload, turns_of(self.work_us))
        for client in self._ends.clients:
            await client.check()

    async def run(self, worker: Worker) -> None:
        """Keep one payload on its way on every connection until stopped."""
        if self._ends:
            await asyncio.gather(*(client.run() for client in self._ends.clients))

    async def teardown(self, worker: Worker) -> None:
        """Close every connection, then the server."""
        if self._ends:
            await self._ends.close()
