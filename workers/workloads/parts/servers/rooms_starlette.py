"""Rooms on Starlette: a WebSocket or an event stream for each member, a POST to publish."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, cast

import starlette
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from workers import Worker
from workers.workloads.parts.rooms import Rooms
from workers.workloads.parts.servers.on_uvicorn import COMPLETE, Application, Connection, OnUvicorn


class Lasting(Connection):
    """A connection whose answers are no operations: the messages on it are."""

    def on_response_complete(self) -> None:
        COMPLETE(self)


class RoomsServer(OnUvicorn):
    """The server of one worker."""

    def __init__(self, worker: Worker, rooms: Rooms, path: str) -> None:
        super().__init__(
            worker,
            lambda: cast(Application, application(rooms, path)),
            framework=f"Starlette {starlette.__version__}",
        )

    def protocol(self) -> asyncio.Protocol:
        return Lasting(self._server, self)

    def websocket(self, **arguments: Any) -> asyncio.Protocol:
        made = WebSocketsSansIOProtocol(**arguments)
        made.app = self.answering
        return made

    @property
    def buffered_bytes(self) -> int:
        connections = self._server.server_state.connections
        return max((each.transport.get_write_buffer_size() for each in connections), default=0)


def application(rooms: Rooms, path: str) -> Starlette:
    """Make the application."""

    async def websocket(connection: WebSocket) -> None:
        name = connection.path_params["name"]
        await connection.accept()

        async def send(message: str) -> None:
            try:
                await connection.send_text(message)
            except (WebSocketDisconnect, RuntimeError) as error:  # the second: it is closed already
                raise ConnectionError(str(error)) from None

        async with rooms.member(name, send):
            async for message in connection.iter_text():
                await rooms.publish(name, message)

    async def events(request: Request) -> Response:
        async def stream() -> AsyncIterator[str]:
            async with aclosing(rooms.messages(request.path_params["name"])) as messages:
                async for message in messages:
                    yield f"data: {message}\n\n"

        return StreamingResponse(
            stream(), media_type="text/event-stream", headers={"Cache-Control": "no-cache"}
        )

    async def publish(request: Request) -> Response:
        message = (await request.body()).decode()
        await rooms.publish(request.path_params["name"], message)
        return Response(status_code=204)

    return Starlette(
        routes=[
            WebSocketRoute(f"{path}/{{name}}", websocket),
            Route(f"{path}/{{name}}", events, methods=["GET"]),
            Route(f"{path}/{{name}}", publish, methods=["POST"]),
        ]
    )
