"""Messages to rooms of long-lived connections on all loops, published by a load generator."""

import asyncio
import importlib
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, ClassVar, Literal

from workers import Worker, parameter
from workers.limits import CONNECTIONS_MOST, MESSAGE_BYTES_MOST, RATE_LEAST, RATE_MOST
from workers.worker.shared import Meeting, meeting
from workers.workloads.parts.first_request import first_request
from workers.workloads.parts.served import Served
from workers.workloads.parts.servers import BaseServer
from workers.workloads.parts.where import service_url

NUMBER = 10  # characters of the number that each message begins with
PATH = "/rooms"
LOOK_S = 0.1  # between looks at what is kept for a member that does not read
SCHEMES = {"websocket": "ws", "sse": "sse"}


@dataclass
class Broadcast(Served):
    """Broadcast: a message from one member of a room reaches all, on whatever loop they are.

    One operation: one message written to one member. Each worker serves `connections`, which stay
    open; every room has `room` members, spread over all workers. Messages are due at `rate_per_s`,
    room after room. One member of a room publishes all of its messages: over its WebSocket, or with
    `sse` by a POST, since server-sent events go one way.

    With `through=loops` threads hand a message to each other's loops by `call_soon_threadsafe`.
    With `broker` each worker publishes to a Valkey server and is subscribed to all rooms, as
    processes have to.

    `sending=queues` has a queue and a task for each member. With `in-turn` a task for each room
    writes to one member after the other, as FastAPI's documentation does. `stalled` members, one in
    each of the first rooms, stop reading once they have joined. What the server keeps for one of
    them at most is in `buffered_max_bytes` (of its connection) and `queued_max_bytes`; whether
    others wait is in the latencies, which are those of all other members.
    """

    operation = "deliveries"
    sent = "messages"
    keep_alive: ClassVar[bool] = True  # type: ignore[misc]  # they last as long as the run

    connections: int = parameter(50, "connections per worker", at_least=1, at_most=CONNECTIONS_MOST)
    rate_per_s: float = parameter(
        100.0,
        "messages due per second, all rooms and workers together",
        at_least=RATE_LEAST,
        at_most=RATE_MOST,
    )
    server: Literal["aiohttp", "starlette"] = parameter(
        "aiohttp", "aiohttp.web, or Starlette on uvicorn with websockets"
    )
    protocol: Literal["websocket", "sse"] = parameter("websocket", "how messages are sent")
    room: int = parameter(10, "members of a room", at_least=1)
    message_bytes: int = parameter(
        64, "bytes of a message, at most 1 MiB", at_least=NUMBER, at_most=MESSAGE_BYTES_MOST
    )
    through: Literal["loops", "broker"] = parameter("loops", "how messages reach other workers")
    sending: Literal["queues", "in-turn"] = parameter("queues", "how a room's members are sent to")
    stalled: int = parameter(0, "members that stop reading", at_least=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._rooms: Rooms | None = None

    def refuses(self, model: str, loop: str) -> str | None:
        """Only a WebSocket is sent to in turn; without a broker, only threads reach others."""
        if (self.protocol, self.sending) == ("sse", "in-turn"):
            return "sse has a queue for each member: use sending=queues"
        if self.through == "loops" and model != "threads":
            return "loops can call into each other only inside one interpreter: use through=broker"
        return super().refuses(model, loop)

    def client_scheme(self) -> str:
        return SCHEMES[self.protocol]

    def client_requests(self) -> list[dict[str, Any]]:
        size = {"room": self.room, "stalled": self.stalled}
        return [{"path": PATH, "body": "x" * self.message_bytes, **size}]

    def load(self) -> None:
        self._kind = importlib.import_module(f"workers.workloads.parts.servers.rooms_{self.server}")
        if self.through == "broker":
            importlib.import_module("valkey.asyncio")

    def facts(self) -> dict[str, str]:
        """What the server says, and which client the broker has."""
        client = {"broker_client": version("valkey")} if self.through == "broker" else {}
        return {**self._facts, **client}

    async def start(self, worker: Worker) -> BaseServer:
        """Reach the other workers, start the server, and try it with a message to nobody."""
        if self.through == "broker":
            url = service_url(worker, "broker", "broadcast")
            self._rooms = BrokerRooms(worker, self.sending, url)
        else:
            self._rooms = LoopRooms(worker, self.sending)
        await self._rooms.open()
        server: BaseServer = self._kind.make(worker, self._rooms, PATH)
        self._server = server
        await server.start()
        request = {"method": "POST", "path": f"{PATH}/empty", "body": "x", "status": 204}
        self._facts = await first_request(server, "http", request)
        return server

    async def run(self, worker: Worker) -> None:
        """Serve until stopped; look at what is kept for members that do not read."""
        assert self._rooms
        looking = asyncio.create_task(self._look(worker)) if self.stalled else None
        try:
            await self._rooms.until(worker.stopped())
        finally:
            if looking:
                looking.cancel()
        await super().run(worker)

    async def _look(self, worker: Worker) -> None:
        figures = dict.fromkeys(("buffered_max_bytes", "queued_max_bytes"), 0)
        assert self._rooms
        assert self._server
        while True:
            found = self._server.buffered_bytes, self._rooms.queued * self.message_bytes
            figures = {
                name: max(before, now)
                for (name, before), now in zip(figures.items(), found, strict=True)
            }
            worker.figures.update(figures)
            await asyncio.sleep(LOOK_S)

    async def teardown(self, worker: Worker) -> None:
        """Close the connections, then leave the other workers."""
        await super().teardown(worker)
        if self._rooms:
            await self._rooms.close()


# -------------------------------------------------------------------------------------------- rooms
# What is published reaches the members that each loop serves.
#
# A server calls `member` for a connection and `publish` for what it receives; it knows nothing of
# other loops. Between loops of one process a message goes by `call_soon_threadsafe`; between
# processes through a broker, which sends it back to the publisher's own loop, too.

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
        """Be there for the others, and have them all."""

    @abstractmethod
    async def publish(self, name: str, message: str) -> None:
        """Have a message delivered to all members of a room, on whatever loop."""

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
        """Be a member of a room, with a queue of its own: what is to be written to it."""
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
        """Have a member of a room, which `send` writes to, while the block runs."""
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
