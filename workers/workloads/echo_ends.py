"""The two ends of an echo connection, in asyncio's three APIs."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol, cast

from workers import Worker
from workers.workloads.loopback import listen
from workers.workloads.turns import turns


class Client(Protocol):
    """The end that sends, waits for everything to come back, and counts."""

    async def check(self) -> None:
        """Make one round trip and compare what came back."""

    async def run(self) -> None:
        """Make round trips until the worker is stopped; the last one is finished."""

    async def close(self) -> None:
        """Close the connection and wait until it is gone."""


@dataclass
class Ends:
    """A server and its clients, closed together."""

    server: asyncio.Server
    clients: list[Client]
    handlers: set[asyncio.Task[None]] = field(default_factory=set)

    async def close(self) -> None:
        """Close clients first: a server waits for every client to be gone."""
        for client in self.clients:
            await client.close()
        self.server.close()
        if self.handlers:
            await asyncio.wait(self.handlers)
        await self.server.wait_closed()


class WrongEchoError(Exception):
    """What came back is not what was sent."""


class Trips:
    """Counts the round trips of one connection, with the CPU work that each carries."""

    def __init__(self, worker: Worker, payload: bytes, work_turns: int) -> None:
        self.worker = worker
        self.payload = payload
        self.work_turns = work_turns
        self.left = len(payload)
        self.transport: asyncio.Transport
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self.transport = cast(asyncio.Transport, transport)

    def connection_lost(self, error: Exception | None) -> None:
        """Note the end; an end in mid-trip is an error."""
        self.lost.set_result(None)
        if not self.ended.done():
            self.ended.set_exception(error or ConnectionResetError("the echo server hung up"))

    def came(self, size: int) -> None:
        """Take note of bytes that came back; a whole payload is a round trip."""
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

    async def check(self) -> None:
        """Make one round trip with another protocol in place, which compares the bytes."""
        comparing = Comparing(self.payload, self.connection_lost)
        own = self.transport.get_protocol()
        self.transport.set_protocol(comparing)
        try:
            self.transport.write(self.payload)
            await comparing.compared
        finally:
            self.transport.set_protocol(own)

    async def run(self) -> None:
        """Send the first payload; `came` sends the others."""
        self.transport.write(self.payload)
        await self.ended

    async def close(self) -> None:
        """Close and wait for the transport to be gone."""
        if not self.ended.done():
            self.ended.cancel()
        self.transport.close()
        await self.lost


class Comparing(asyncio.Protocol):
    """Collects one payload and compares it."""

    def __init__(self, payload: bytes, connection_lost: Callable[[Exception | None], None]) -> None:
        self._payload = payload
        self._connection_lost = connection_lost
        self._received = bytearray()
        self.compared: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        """Collect, and compare when it is all there."""
        self._received += data
        if len(self._received) < len(self._payload):
            return
        if self._received == self._payload:
            self.compared.set_result(None)
        else:
            self.compared.set_exception(WrongEchoError("the echo differs from what was sent"))

    def connection_lost(self, error: Exception | None) -> None:
        """Fail instead of waiting for ever, and let the protocol of the connection know."""
        self._connection_lost(error)
        if not self.compared.done():
            self.compared.set_exception(error or ConnectionResetError("the echo server hung up"))


class ProtocolServer(asyncio.Protocol):
    """Echoes what it is given."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Send it back."""
        self.transport.write(data)


class ProtocolClient(Trips, asyncio.Protocol):
    """Counts round trips in `data_received`."""

    def data_received(self, data: bytes) -> None:
        """Take note of what came back."""
        self.came(len(data))


BUFFER_BYTES = 65_536


class BufferedServer(asyncio.BufferedProtocol):
    """Echoes from a buffer of its own: nothing is allocated per read."""

    def __init__(self) -> None:
        self._buffer = memoryview(bytearray(BUFFER_BYTES))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self.transport = cast(asyncio.Transport, transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Lend the buffer to the transport."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Send back a copy: the buffer is overwritten by the next read."""
        self.transport.write(bytes(self._buffer[:nbytes]))


class BufferedClient(Trips, asyncio.BufferedProtocol):
    """Counts round trips in `buffer_updated`."""

    def __init__(self, worker: Worker, payload: bytes, work_turns: int) -> None:
        super().__init__(worker, payload, work_turns)
        self._buffer = bytearray(BUFFER_BYTES)

    def get_buffer(self, sizehint: int) -> bytearray:
        """Lend the buffer to the transport."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Take note of what came back."""
        self.came(nbytes)


class StreamsClient:
    """Counts round trips in a coroutine."""

    def __init__(
        self,
        worker: Worker,
        payload: bytes,
        work_turns: int,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._worker, self._payload, self._turns = worker, payload, work_turns
        self._reader, self._writer = reader, writer

    async def _trip(self) -> bytes:
        self._writer.write(self._payload)
        await self._writer.drain()
        return await self._reader.readexactly(len(self._payload))

    async def check(self) -> None:
        """Make one round trip and compare."""
        if await self._trip() != self._payload:
            raise WrongEchoError("the echo differs from what was sent")

    async def run(self) -> None:
        """Make round trips until stopped."""
        worker, work_turns = self._worker, self._turns
        while worker.running:
            await self._trip()
            worker.operations += 1
            if work_turns:
                turns(work_turns)

    async def close(self) -> None:
        """Close the stream and wait for it to be gone."""
        self._writer.close()
        await self._writer.wait_closed()


async def _with_protocols(
    server_of: Callable[[], asyncio.BaseProtocol],
    client_of: type[ProtocolClient] | type[BufferedClient],
    worker: Worker,
    connections: int,
    payload: bytes,
    work_turns: int,
) -> Ends:
    loop = asyncio.get_running_loop()
    listener, host, port = listen(connections)
    ends = Ends(await loop.create_server(server_of, sock=listener), [])
    for _ in range(connections):
        client = client_of(worker, payload, work_turns)
        await loop.create_connection(lambda made=client: made, host, port)  # type: ignore[misc]
        ends.clients.append(client)
    return ends


async def _with_protocol(worker: Worker, connections: int, payload: bytes, work_turns: int) -> Ends:
    return await _with_protocols(
        ProtocolServer, ProtocolClient, worker, connections, payload, work_turns
    )


async def _with_buffered(worker: Worker, connections: int, payload: bytes, work_turns: int) -> Ends:
    return await _with_protocols(
        BufferedServer, BufferedClient, worker, connections, payload, work_turns
    )


async def _with_streams(worker: Worker, connections: int, payload: bytes, work_turns: int) -> Ends:
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

    listener, host, port = listen(connections)
    ends = Ends(await asyncio.start_server(echo, sock=listener), [], handlers)
    for _ in range(connections):
        reader, writer = await asyncio.open_connection(host, port)
        ends.clients.append(StreamsClient(worker, payload, work_turns, reader, writer))
    return ends


ENDS: dict[str, Callable[[Worker, int, bytes, int], Awaitable[Ends]]] = {
    "protocol": _with_protocol,
    "buffered": _with_buffered,
    "streams": _with_streams,
}
