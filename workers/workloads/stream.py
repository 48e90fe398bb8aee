"""Bulk transfer over loopback: how many bytes a loop moves."""

import asyncio
from dataclasses import dataclass
from typing import Literal

from workers import Worker, Workload, parameter
from workers.system import listen

MIB = 1 << 20


@dataclass
class Stream(Workload):
    """One-way TCP transfer: a client writes large blocks, a server reads and discards them.

    One operation: 1 MiB received. Both ends share the worker's loop. Writes of 10 MiB over one
    connection per worker are the parameters of aditya-2025's TCP benchmark. Most of the cost is the
    kernel copying over loopback, not Python.
    """

    operation = "MiB"
    in_flight = "connections"
    descriptors = 2  # both ends
    alone = None

    connections: int = parameter(1, "connections per worker", at_least=1)
    write_bytes: int = parameter(10 * MIB, "bytes per write", at_least=1)
    receiver: Literal["streams", "protocol"] = parameter(
        "streams", "asyncio API used at the receiving end"
    )

    async def setup(self, worker: Worker) -> None:
        self._writers: list[asyncio.StreamWriter] = []
        self._server: asyncio.Server | None = None
        self._sink = Sink(worker)
        # Not zeros: the kernel would map all of those to one page, and read it from the cache.
        self._payload = b"\xa5" * self.write_bytes
        listener, host, port = listen(self.connections)
        if self.receiver == "streams":
            self._server = await asyncio.start_server(self._sink.drop, sock=listener)
        else:
            loop = asyncio.get_running_loop()
            self._server = await loop.create_server(lambda: Drop(self._sink), sock=listener)
        for _ in range(self.connections):
            _, writer = await asyncio.open_connection(host, port)
            self._writers.append(writer)

    async def run(self, worker: Worker) -> None:
        await asyncio.gather(*(self._write(worker, writer) for writer in self._writers))

    async def _write(self, worker: Worker, writer: asyncio.StreamWriter) -> None:
        while worker.running:
            writer.write(self._payload)
            await writer.drain()

    async def teardown(self, worker: Worker) -> None:
        """Close the writing ends, let the server read the rest, close it."""
        for writer in self._writers:
            writer.close()
            await writer.wait_closed()
        if self._server:
            self._server.close()
            if self._sink.handlers:
                await asyncio.wait(self._sink.handlers)
            await self._server.wait_closed()


class Sink:
    """Counts what arrives at a worker's server."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self.handlers: set[asyncio.Task[None]] = set()

    def arrived(self, size: int) -> None:
        """Count bytes, and operations in whole MiB."""
        self._worker.bytes += size
        self._worker.operations = self._worker.bytes // MIB

    async def drop(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Read one connection to its end."""
        task = asyncio.current_task()
        if task is not None:
            self.handlers.add(task)
        while data := await reader.read(MIB):
            self.arrived(len(data))
        writer.close()
        await writer.wait_closed()


class Drop(asyncio.Protocol):
    """Reads one connection without streams."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def data_received(self, data: bytes) -> None:
        self._sink.arrived(len(data))
