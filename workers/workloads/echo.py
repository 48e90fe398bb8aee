"""TCP round trips over loopback, between clients and a server on the same loop."""

import asyncio
from dataclasses import dataclass
from typing import Literal

from workers import Worker, Workload, parameter
from workers.workloads.parts.echo_ends import ENDS, EchoSetup, Ends
from workers.workloads.parts.loopback import PLAIN
from workers.workloads.parts.work import turns_of


@dataclass
class Echo(Workload):
    """TCP echo: every connection sends a payload and waits until all of it has come back.

    One operation: one round trip, which takes four system calls and two wake-ups for the pair.
    Client and server share the worker's loop, so the figure is the cost of both together, not of a
    server alone. The literature uses payloads of 256 B, 1, 10 and 100 KiB. With fewer than 4
    connections the figure is dominated by wake-ups.

    With `tls`, all traffic uses TLS 1.3. Handshakes are done before anything is counted, the
    certificate is verified, and every byte is encrypted and decrypted twice per round trip. Each
    worker has its own pair of `SSLContext`s, or all workers share one pair, as in a real server.
    """

    operation = "round trips"
    in_flight = "connections"
    descriptors = 2  # both ends
    alone = None

    connections: int = parameter(
        8, "connections per worker, each with one payload in flight", at_least=1
    )
    payload_bytes: int = parameter(1024, "bytes per payload", at_least=1)
    api: Literal["protocol", "buffered", "streams"] = parameter(
        "protocol", "asyncio API used at both ends"
    )
    work_us: float = parameter(
        0.0, "CPU work per operation, nominal µs (30 turns of a loop each)", at_least=0
    )
    tls: Literal["off", "per-worker", "shared"] = parameter(
        "off", "TLS 1.3, with SSLContexts per worker or shared by all workers"
    )

    def refuses(self, model: str, loop: str) -> str | None:
        """Only threads can share contexts; rloop 0.5 has no TLS."""
        if self.tls != "off" and loop == "rloop":
            return "rloop has no TLS"
        if self.tls == "shared" and model != "threads":
            return "workers of this model share nothing; only threads do"
        return super().refuses(model, loop)

    def load(self) -> None:
        """Make the certificate, and shared contexts, before any loop exists."""
        self._contexts = PLAIN
        if self.tls != "off":
            from workers.workloads.parts import tls

            tls.certificate()
            if self.tls == "shared":
                self._contexts = tls.shared_contexts()

    def facts(self) -> dict[str, str]:
        """The class of the protocols; TLS version and cipher in use, and whose the contexts are."""
        if not self._ends:
            return {}
        facts = {"protocol": self._ends.protocol()}
        if self.tls == "off":
            return facts
        from workers.workloads.parts import tls

        whose = "shared by all" if tls.are_shared(self._contexts) else "per worker"
        return facts | {"tls": self._ends.tls(), "ssl_contexts": whose}

    async def setup(self, worker: Worker) -> None:
        """Start the worker's own server, connect, and check one echo byte by byte."""
        self._ends: Ends | None = None
        payload = (bytes(range(256)) * -(-self.payload_bytes // 256))[: self.payload_bytes]
        if self.tls == "per-worker":
            from workers.workloads.parts import tls

            self._contexts = tls.new_contexts()
        setup = EchoSetup(worker, self.connections, payload, turns_of(self.work_us), self._contexts)
        self._ends = await ENDS[self.api](setup)
        await self._ends.check(setup)

    async def run(self, worker: Worker) -> None:
        """Keep one payload in flight on every connection until stopped."""
        if self._ends:
            await asyncio.gather(*(client.run() for client in self._ends.clients))

    async def teardown(self, worker: Worker) -> None:
        """Close all connections, then the server."""
        if self._ends:
            await self._ends.close()
