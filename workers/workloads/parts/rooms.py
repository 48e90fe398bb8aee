"""Rooms: a message that one member publishes reaches the members on every worker's loop.

A server calls `member` for a connection and `publish` for what it receives; it knows nothing of
other loops. Between loops of one process a message goes by `call_soon_threadsafe`; between
processes through a broker, which sends it back to the publisher's own loop, too.
"""

import asyncio
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any

from workers import Worker
from workers.worker.shared import Meeting, meeting

JOINED = "joined"  # the first message to a member: from then on it receives what is published
CHANNEL = "room:"  # what the broker's channels begin with
ANSWER_S = 10.0  # by then a broker has answered

type Send = Callable[[str], Awaitable[None]]


class Room:
    """The members of a room on one loop: each with a queue, or all with one and a task that serves
    them in turn. Queues have no limit.
    """

    def __init__(self) -> None:
        self.queues: set[asyncio.Queue[str]] = set()
        self.in_turn: dict[Send, None] = {}
        self.writing: asyncio.Task[None] | None = None

    def deliver(self, message: str) -> None:
        """Put a message into all queues."""
        for queue in self.queues:
            queue.put_nowait(message)


class Rooms(ABC):
    """The rooms of one worker, and its way to those of the others.

    Each message that is written to a member is an operation of the worker.
    """

    def __init__(self, worker: Worker, sending: str) -> None:
        self._worker = worker
        self._sending = sending
        self._rooms: defaultdict[str, Room] = defaultdict(Room)

    @abstractmethod
    async def open(self) -> None:
        """Connect to the rooms of all other workers."""

    @abstractmethod
    async def publish(self, name: str, message: str) -> None:
        """Send a message to all members of a room, on every loop."""

    @abstractmethod
    async def close(self) -> None:
        """Wait until none of the others sends anything more."""

    async def until(self, stopped: Awaitable[object]) -> None:
        """Wait for the end of the run.

        Raises:
            ConnectionError: the way to the others is gone.
        """
        await stopped

    def deliver(self, name: str, message: str) -> None:
        """Deliver to the members on this loop; a room without any is none."""
        if name in self._rooms:
            self._rooms[name].deliver(message)

    async def messages(self, name: str) -> AsyncGenerator[str]:
        """Join a room with a queue of its own; yield the messages to write to this member."""
        queue: asyncio.Queue[str] = asyncio.Queue()
        queues = self._rooms[name].queues
        queues.add(queue)
        try:
            yield JOINED
            while True:
                yield await queue.get()
                self._worker.operations += 1
        finally:
            queues.discard(queue)

    @asynccontextmanager
    async def member(self, name: str, send: Send) -> AsyncIterator[None]:
        """Add a member to a room for the time of the block; `send` writes to it."""
        if self._sending == "in-turn":
            await send(JOINED)
            room = self._rooms[name]
            room.in_turn[send] = None
            if room.writing is None:
                queue: asyncio.Queue[str] = asyncio.Queue()
                room.queues.add(queue)
                room.writing = asyncio.create_task(self._write_in_turn(room, queue))
            try:
                yield
            finally:
                del room.in_turn[send]
                if not room.in_turn:
                    room.writing.cancel()
                    room.queues.clear()
                    room.writing = None
        else:
            writing = asyncio.create_task(self._write(name, send))
            try:
                yield
            finally:
                writing.cancel()

    async def _write(self, name: str, send: Send) -> None:
        with suppress(ConnectionError):  # it has gone
            async with aclosing(self.messages(name)) as messages:
                async for message in messages:
                    await send(message)

    async def _write_in_turn(self, room: Room, queue: asyncio.Queue[str]) -> None:
        while True:
            message = await queue.get()
            for send in list(room.in_turn):
                with suppress(ConnectionError):
                    await send(message)
                    self._worker.operations += 1

    @property
    def queued(self) -> int:
        """Messages in the longest queue."""
        queues = (queue for room in self._rooms.values() for queue in room.queues)
        return max((queue.qsize() for queue in queues), default=0)


_of_process: dict[int, "LoopRooms"] = {}  # by worker; a process measures one cell


class LoopRooms(Rooms):
    """Loops of one process call into each other."""

    def __init__(self, worker: Worker, sending: str) -> None:
        super().__init__(worker, sending)
        self._others: list[tuple[asyncio.AbstractEventLoop, LoopRooms]] = []
        self._meeting: Meeting = meeting(worker.workers)
        _of_process[worker.index] = self

    async def open(self) -> None:
        own = self._worker.index
        loops = await self._meeting.join(own)
        self._others = [(loop, _of_process[n]) for n, loop in enumerate(loops) if n != own]

    async def publish(self, name: str, message: str) -> None:
        """Deliver here, and by a callback on each other loop."""
        for loop, rooms in self._others:
            loop.call_soon_threadsafe(rooms.deliver, name, message)
        self.deliver(name, message)

    async def close(self) -> None:
        """Keep the loop open until no other worker sends to it any more."""
        if self._others or self._worker.workers == 1:
            await self._meeting.leave()


class BrokerRooms(Rooms):
    """Workers publish through Valkey and subscribe to all rooms: each worker has members of all."""

    def __init__(self, worker: Worker, sending: str, url: str) -> None:
        from valkey.asyncio import Valkey

        super().__init__(worker, sending)
        # Without a time-out: after 5 s without a message the client would give up.
        self._client: Any = Valkey.from_url(url, decode_responses=True, socket_timeout=None)
        self._heard: Any = self._client.pubsub()
        self._hearing: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Subscribe.

        Raises:
            ConnectionError: the broker does not answer.
        """
        await self._heard.psubscribe(f"{CHANNEL}*")
        if await self._heard.get_message(timeout=ANSWER_S) is None:
            raise ConnectionError(f"the broker did not answer within {ANSWER_S:g} s")
        self._hearing = asyncio.create_task(self._hear())

    async def _hear(self) -> None:
        async for heard in self._heard.listen():
            self.deliver(heard["channel"].removeprefix(CHANNEL), heard["data"])

    async def publish(self, name: str, message: str) -> None:
        await self._client.publish(f"{CHANNEL}{name}", message)

    async def until(self, stopped: Awaitable[object]) -> None:
        assert self._hearing
        ended = asyncio.ensure_future(stopped)
        await asyncio.wait([ended, self._hearing], return_when=asyncio.FIRST_COMPLETED)
        if not ended.done():
            ended.cancel()
            self._hearing.result()

    async def close(self) -> None:
        """Close the connections; what the broker still has for this worker is for nobody."""
        if self._hearing:
            self._hearing.cancel()
        await self._heard.aclose()
        await self._client.aclose()
