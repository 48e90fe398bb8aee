"""Client and server of an echo connection, in each of asyncio's three APIs."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol, cast

from workers import Worker
from workers.workloads.parts.loopback import PLAIN, Contexts, listen
from workers.workloads.parts.work import turns


@dataclass(frozen=True)
class EchoSetup:
    """What to set up: connections of which worker, how many, payload, and work per round trip."""

    worker: Worker
    connections: int
    payload: bytes
    work_turns: int = 0
    contexts: Contexts = PLAIN


class Client(Protocol):
    """The end that sends, waits until everything has come back, and counts."""

    transport: asyncio.Transport

    async def run(self) -> None:
        """Make round trips until the worker is stopped; finish the last one."""

    async def close(self) -> None:
        """Close the connection and wait until it is closed."""


@dataclass
class Ends:
    """A server, its host and port, and its clients; closed together."""

    server: asyncio.Server
    address: tuple[str, int]
    clients: list[Client] = field(default_factory=list)
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
        tls = setup.contexts.client
        reader, self.checking = await asyncio.open_connection(*self.address, ssl=tls)
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
    """What came back differs from what was sent."""


class Trips:
    """Counts the round trips of one connection, and does the CPU work of each."""

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
        """Send the first payload; `received` sends the others."""
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
    """Counts round trips in a coroutine."""

    def __init__(
        self, setup: EchoSetup, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._worker, self._payload, self._turns = setup.worker, setup.payload, setup.work_turns
        self._reader, self._writer = reader, writer
        self.transport = cast(asyncio.Transport, writer.transport)

    async def run(self) -> None:
        """Make round trips until stopped."""
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
    tls = setup.contexts
    server = await loop.create_server(server_of, sock=listener, ssl=tls.server)
    ends = Ends(server, (host, port))
    for _ in range(setup.connections):
        client = client_of(setup)
        await loop.create_connection(lambda made=client: made, host, port, ssl=tls.client)
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
    tls = setup.contexts
    server = await asyncio.start_server(echo, sock=listener, ssl=tls.server)
    ends = Ends(server, (host, port), handlers=handlers)
    for _ in range(setup.connections):
        reader, writer = await asyncio.open_connection(host, port, ssl=tls.client)
        ends.clients.append(StreamsClient(setup, reader, writer))
    return ends


ENDS: dict[str, Callable[[EchoSetup], Awaitable[Ends]]] = {
    "protocol": _with_protocol,
    "buffered": _with_buffered,
    "streams": _with_streams,
}
