"""TCP round trips between clients and a server on the same loop, over loopback."""

import asyncio
from dataclasses import dataclass
from typing import Literal

from workers import Worker, Workload, parameter
from workers.workloads.parts.echo_ends import ENDS, Ends, Wanted
from workers.workloads.parts.loopback import PLAIN
from workers.workloads.parts.turns import turns_of


@dataclass
class Echo(Workload):
    """TCP echo: every connection sends a payload and waits for all of it to come back.

    One operation: one round trip, which is four system calls and two wake-ups for the pair.
    Client and server share the worker's loop, so the figure is the cost of both together, not
    what a server alone would do. Payloads are the blog's and the literature's (1 KiB; 256 B,
    10 KiB, 100 KiB); fewer than 4 connections measure wake-ups instead of work.

    With `tls` all of it goes through TLS 1.3, handshakes done before anything is counted: the
    certificate is checked, and every byte encrypted and decrypted twice a trip. A context is made
    for each worker, or one for each end that all workers share, as a server would have it.
    """

    operation = "round trips"
    in_flight = "connections"
    descriptors = 2  # both ends

    connections: int = parameter(8, "connections per worker, one payload each", at_least=1)
    payload_bytes: int = parameter(1024, "bytes sent and echoed", at_least=1)
    api: Literal["protocol", "buffered", "streams"] = parameter(
        "protocol", "asyncio's API at both ends"
    )
    work_us: float = parameter(0.0, "CPU work per operation, nominal µs", at_least=0)
    tls: Literal["off", "per-worker", "shared"] = parameter(
        "off", "TLS 1.3, with contexts of each worker's own or one pair for all"
    )

    def refuses(self, model: str, loop: str) -> str | None:
        """Only threads can share contexts, and rloop 0.5 cannot do TLS at all."""
        if self.tls != "off" and loop == "rloop":
            return "rloop has no TLS"
        if self.tls == "shared" and model != "threads":
            return "nothing is shared between workers of this model"
        return super().refuses(model, loop)

    def load(self) -> None:
        """Have a certificate, and what is shared, before there is any loop."""
        self._contexts = PLAIN
        if self.tls != "off":
            from workers.workloads.parts import tls

            tls.certificate()
            if self.tls == "shared":
                self._contexts = tls.shared_contexts()

    def facts(self) -> dict[str, str]:
        """Tell the TLS version and cipher that were agreed on."""
        return {} if self.tls == "off" or not self._ends else {"tls": self._ends.tls()}

    async def setup(self, worker: Worker) -> None:
        """Open the worker's own server, connect, and check what comes back from it."""
        self._ends: Ends | None = None
        payload = (bytes(range(256)) * -(-self.payload_bytes // 256))[: self.payload_bytes]
        if self.tls == "per-worker":
            from workers.workloads.parts import tls

            self._contexts = tls.new_contexts()
        wanted = Wanted(worker, self.connections, payload, turns_of(self.work_us), self._contexts)
        self._ends = await ENDS[self.api](wanted)
        await self._ends.check(wanted)

    async def run(self, worker: Worker) -> None:
        """Keep one payload on its way on every connection until stopped."""
        if self._ends:
            await asyncio.gather(*(client.run() for client in self._ends.clients))

    async def teardown(self, worker: Worker) -> None:
        """Close every connection, then the server."""
        if self._ends:
            await self._ends.close()
