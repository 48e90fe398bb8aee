"""Messages to rooms of long-lived connections on all loops, published by a load generator."""

import asyncio
import importlib
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, ClassVar, Literal

from workers import Worker, parameter
from workers.limits import CONNECTIONS_MOST, MESSAGE_BYTES_MOST, RATE_LEAST, RATE_MOST
from workers.workloads.parts.clients import service_url
from workers.workloads.parts.first_request import first_request
from workers.workloads.parts.rooms import BrokerRooms, LoopRooms, Rooms
from workers.workloads.parts.served import Served
from workers.workloads.parts.servers import BaseServer

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
    each of the first rooms, stop reading once they have joined. The most that the server
    keeps for one of them is in `buffered_max_bytes` (of its connection) and `queued_max_bytes`.
    Latencies are those of all other members, and show whether these wait.
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
        """The server's facts, and the version of the broker's client."""
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
        server: BaseServer = self._kind.RoomsServer(worker, self._rooms, PATH)
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
