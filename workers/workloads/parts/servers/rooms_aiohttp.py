"""Rooms on aiohttp.web: a WebSocket or an event stream for each member, a POST to publish."""

import asyncio
from contextlib import aclosing

from aiohttp import web

from workers import Worker
from workers.workloads.parts.rooms import Rooms
from workers.workloads.parts.servers.on_aiohttp import Connection, OnAiohttp

WEBSOCKET = "websocket"
EVENTS = {"Content-Type": "text/event-stream", "Cache-Control": "no-cache"}


class Lasting(Connection):
    """A connection whose answers are no operations: the messages on it are."""

    __slots__ = ()

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        return await web.RequestHandler.finish_response(self, request, resp, start_time)


class RoomsServer(OnAiohttp):
    """The server of one worker."""

    def __init__(self, worker: Worker, rooms: Rooms, path: str) -> None:
        super().__init__(worker, lambda: application(rooms, path), handler_cancellation=True)

    def protocol(self) -> asyncio.Protocol:
        assert self._runner.server
        return Lasting(self._runner.server, self)

    @property
    def buffered_bytes(self) -> int:
        assert self._runner.server
        transports = [each.transport for each in self._runner.server.connections]
        return max((each.get_write_buffer_size() for each in transports if each), default=0)


def application(rooms: Rooms, path: str) -> web.Application:
    """Make the application."""

    async def listen(request: web.Request) -> web.StreamResponse:
        if request.headers.get("Upgrade", "").lower() == WEBSOCKET:
            return await websocket(request)
        return await events(request)

    async def websocket(request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        answer = web.WebSocketResponse()
        await answer.prepare(request)
        async with rooms.member(name, answer.send_str):
            async for message in answer:
                await rooms.publish(name, message.data)
        return answer

    async def events(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse(headers=EVENTS)
        await answer.prepare(request)

        async with aclosing(rooms.messages(request.match_info["name"])) as messages:
            async for message in messages:  # until the client has gone, which cancels this
                await answer.write(f"data: {message}\n\n".encode())
        return answer

    async def publish(request: web.Request) -> web.Response:
        await rooms.publish(request.match_info["name"], await request.text())
        return web.Response(status=204)

    made = web.Application()
    made.router.add_get(f"{path}/{{name}}", listen)
    made.router.add_post(f"{path}/{{name}}", publish)
    return made
