"""TCP round trips over loopback, between clients and a server on the same loop."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, cast

from workers import Worker, Workload, parameter
from workers.cell import SHARING
from workers.system import listen
from workers.workloads.parts.work import turns, turns_of

if TYPE_CHECKING:  # what does without TLS does not import it
    import ssl

    from workers.workloads.parts.tls import Contexts


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
        if self.tls == "shared" and model not in SHARING:
            return "workers of this model share nothing; only threads do"
        return super().refuses(model, loop)

    def load(self) -> None:
        """Make the certificate, and shared contexts, before any loop exists."""
        self._contexts: Contexts | None = None
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


# --------------------------------------------------------------------------------------------- ends
# Client and server of an echo connection, in each of asyncio's three APIs.


@dataclass(frozen=True)
class EchoSetup:
    """The set-up of one worker's echo: connections, payload, and work per round trip."""

    worker: Worker
    connections: int
    payload: bytes
    work_turns: int = 0
    contexts: "Contexts | None" = None

    @property
    def server_tls(self) -> "ssl.SSLContext | None":
        """The server's context; None without TLS."""
        return self.contexts.server if self.contexts else None

    @property
    def client_tls(self) -> "ssl.SSLContext | None":
        """The context of the clients; None without TLS."""
        return self.contexts.client if self.contexts else None


@dataclass
class Ends:
    """A server, its host and port, and its clients; closed together."""

    server: asyncio.Server
    address: tuple[str, int]
    clients: "list[Trips | StreamsClient]" = field(default_factory=list)
    handlers: set[asyncio.Task[None]] = field(default_factory=set)
    checking: asyncio.StreamWriter | None = None

    async def check(self, setup: EchoSetup) -> None:
        """Make a round trip on an extra connection, and compare the bytes.

        It stays open: at an end of file asyncio frees a receive buffer of 256 KiB, after which
        glibc allocates all later ones differently.

        Raises:
            WrongEchoError: they differ.
            ConnectionResetError: the server closed the connection.
        """
        reader, self.checking = await asyncio.open_connection(*self.address, ssl=setup.client_tls)
        self.checking.write(setup.payload)
        try:
            echoed = await reader.readexactly(len(setup.payload))
        except asyncio.IncompleteReadError:
            raise ConnectionResetError(CLOSED) from None
        if echoed != setup.payload:
            raise WrongEchoError("the echo differs from what was sent")

    def protocol(self) -> str:
        """The class of asyncio that the clients' protocols are of."""
        buffered = isinstance(self.clients[0].transport.get_protocol(), asyncio.BufferedProtocol)
        return "BufferedProtocol" if buffered else "Protocol"

    def tls(self) -> str:
        """TLS version and cipher in use: `TLSv1.3 TLS_AES_256_GCM_SHA384`."""
        cipher = self.clients[0].transport.get_extra_info("cipher")
        return f"{cipher[1]} {cipher[0]}" if cipher else "none"

    async def close(self) -> None:
        """Close the clients first: a server waits until every client has closed."""
        for client in self.clients:
            await client.close()
        if self.checking:
            self.checking.close()
            await self.checking.wait_closed()
        self.server.close()
        if self.handlers:
            await asyncio.wait(self.handlers)
        await self.server.wait_closed()


CLOSED = "the echo server closed the connection"


class WrongEchoError(Exception):
    """The echo differs from the payload."""


class Trips:
    """The end that sends: counts round trips of one connection, and does the CPU work of each."""

    transport: asyncio.Transport

    def __init__(self, setup: EchoSetup) -> None:
        self.worker = setup.worker
        self.payload = setup.payload
        self.work_turns = setup.work_turns
        self.left = len(setup.payload)
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self.transport = cast(asyncio.Transport, transport)

    def connection_lost(self, error: Exception | None) -> None:
        """Note the end; it is an error in the middle of a round trip."""
        self.lost.set_result(None)
        if not self.ended.done():
            self.ended.set_exception(error or ConnectionResetError(CLOSED))

    def received(self, size: int) -> None:
        """Count bytes that came back; a whole payload is a round trip."""
        self.left -= size
        if self.left:
            return
        self.worker.operations += 1
        if self.work_turns:
            turns(self.work_turns)
        self.left = len(self.payload)
        if self.worker.running:
            self.transport.write(self.payload)
        else:
            self.ended.set_result(None)

    async def run(self) -> None:
        """Send the first payload; `received` sends the others, until the worker is stopped."""
        self.transport.write(self.payload)
        await self.ended

    async def close(self) -> None:
        """Close the transport and wait until it is closed."""
        if not self.ended.done():
            self.ended.cancel()
        self.transport.close()
        await self.lost


class ProtocolServer(asyncio.Protocol):
    """Echoes what it receives."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Send it back."""
        self.transport.write(data)


class ProtocolClient(Trips, asyncio.Protocol):
    """Counts round trips in `data_received`."""

    def data_received(self, data: bytes) -> None:
        """Count what came back."""
        self.received(len(data))


BUFFER_BYTES = 65_536


class BufferedServer(asyncio.BufferedProtocol):
    """Echoes from its own buffer: reading allocates nothing."""

    def __init__(self) -> None:
        self._buffer = memoryview(bytearray(BUFFER_BYTES))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self.transport = cast(asyncio.Transport, transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Lend the buffer to the transport."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Send back a copy: the next read overwrites the buffer."""
        self.transport.write(bytes(self._buffer[:nbytes]))


class BufferedClient(Trips, asyncio.BufferedProtocol):
    """Counts round trips in `buffer_updated`."""

    def __init__(self, setup: EchoSetup) -> None:
        super().__init__(setup)
        self._buffer = bytearray(BUFFER_BYTES)

    def get_buffer(self, sizehint: int) -> bytearray:
        """Lend the buffer to the transport."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Count what came back."""
        self.received(nbytes)


class StreamsClient:
    """The same with streams: counts round trips in a coroutine."""

    def __init__(
        self, setup: EchoSetup, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._worker, self._payload, self._turns = setup.worker, setup.payload, setup.work_turns
        self._reader, self._writer = reader, writer
        self.transport = cast(asyncio.Transport, writer.transport)

    async def run(self) -> None:
        """Make round trips until the worker is stopped; finish the last one."""
        worker, work_turns = self._worker, self._turns
        while worker.running:
            self._writer.write(self._payload)
            await self._writer.drain()
            await self._reader.readexactly(len(self._payload))
            worker.operations += 1
            if work_turns:
                turns(work_turns)

    async def close(self) -> None:
        """Close the stream and wait until it is closed."""
        self._writer.close()
        await self._writer.wait_closed()


async def _with_protocols(
    server_of: Callable[[], asyncio.BaseProtocol],
    client_of: type[ProtocolClient] | type[BufferedClient],
    setup: EchoSetup,
) -> Ends:
    loop = asyncio.get_running_loop()
    listener, host, port = listen(setup.connections)
    server = await loop.create_server(server_of, sock=listener, ssl=setup.server_tls)
    ends = Ends(server, (host, port))
    for _ in range(setup.connections):
        client = client_of(setup)
        await loop.create_connection(lambda made=client: made, host, port, ssl=setup.client_tls)
        ends.clients.append(client)
    return ends


async def _with_protocol(setup: EchoSetup) -> Ends:
    return await _with_protocols(ProtocolServer, ProtocolClient, setup)


async def _with_buffered(setup: EchoSetup) -> Ends:
    return await _with_protocols(BufferedServer, BufferedClient, setup)


async def _with_streams(setup: EchoSetup) -> Ends:
    handlers: set[asyncio.Task[None]] = set()

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            handlers.add(task)
        while data := await reader.read(BUFFER_BYTES):
            writer.write(data)
            await writer.drain()
        writer.close()
        await writer.wait_closed()

    listener, host, port = listen(setup.connections)
    server = await asyncio.start_server(echo, sock=listener, ssl=setup.server_tls)
    ends = Ends(server, (host, port), handlers=handlers)
    for _ in range(setup.connections):
        reader, writer = await asyncio.open_connection(host, port, ssl=setup.client_tls)
        ends.clients.append(StreamsClient(setup, reader, writer))
    return ends


ENDS: dict[str, Callable[[EchoSetup], Awaitable[Ends]]] = {
    "protocol": _with_protocol,
    "buffered": _with_buffered,
    "streams": _with_streams,
}
