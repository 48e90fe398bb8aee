"""aiohttp applications on aiohttp's own server, with connections made by `protocol`."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
from aiohttp import web

from workers import Worker
from workers.cell import MESSAGES
from workers.workloads.parts.applications import ApplicationError, one_line
from workers.workloads.parts.servers import CLOSING_S, KEEP_ALIVE_S, BaseServer, on_off
from workers.workloads.parts.work import PerRequest


class Connection(web.RequestHandler):
    """A connection that counts an answer once it is written."""

    __slots__ = ("_counted",)

    def __init__(self, server: web.Server, counted: BaseServer) -> None:
        super().__init__(
            server,
            loop=asyncio.get_running_loop(),
            access_log=None,  # type: ignore[arg-type]  # what its documentation says for none
            keepalive_timeout=KEEP_ALIVE_S,
        )
        self._counted = counted

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Write the answer, then count it unless the client has gone."""
        written, reset = await super().finish_response(request, resp, start_time)
        if not reset and not isinstance(resp, web.WebSocketResponse):
            self._counted.worker.operations += 1
        return written, reset

    def count(self, operations: int) -> None:
        """Count operations of a WebSocket."""
        self._counted.worker.operations += operations

    def connection_lost(self, exc: BaseException | None) -> None:
        self._counted.unused += not self._request_count
        super().connection_lost(exc)

    def facts(self) -> dict[str, str]:
        """Parser, access log and debug mode of this connection.

        Where its parser in C cannot be loaded, aiohttp uses one in Python without a warning.
        """
        in_c = type(self._parser).__module__ == "aiohttp._http_parser"
        return {
            "http_parser": f"aiohttp, {'C' if in_c else 'pure Python'}",
            "access_log": on_off(self.access_logger),
            "debug": on_off(self.debug),
        }


SEND: Any = web.WebSocketResponse.send_str, web.WebSocketResponse.send_bytes
SENT = "scaling.sent"  # how many messages a WebSocket has sent


def _count(send: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    """The same method, which counts an operation by the messages that answer it."""

    async def counted(self: web.WebSocketResponse, *arguments: Any, **options: Any) -> None:
        await send(self, *arguments, **options)
        request = self._req
        connection = request.protocol if request else None
        if request and isinstance(connection, Connection):
            self[SENT] = self.get(SENT, 0) + 1
            connection.count(self[SENT] % int(request.headers.get(MESSAGES, 1)) == 0)

    return counted


def count_websockets() -> None:
    """Count messages of all WebSockets: a user's application makes these itself."""
    made: Any = web.WebSocketResponse
    made.send_str, made.send_bytes = map(_count, SEND)


class OnAiohttp(BaseServer):
    """An aiohttp application and its server on one worker's loop."""

    def __init__(
        self,
        worker: Worker,
        make: Callable[[], web.Application],
        *,
        handler_cancellation: bool = False,
    ) -> None:
        """`make` makes the application: each loop needs its own.

        With `handler_cancellation`, a client that goes ends the handler of its request.
        """
        super().__init__(worker)
        self._runner = web.AppRunner(
            make(),
            access_log=None,
            shutdown_timeout=CLOSING_S,
            handler_cancellation=handler_cancellation,
        )

    async def start(self) -> None:
        """Start the application.

        Raises:
            ApplicationError: the application did not start.
        """
        try:
            await self._runner.setup()
        except Exception as error:
            if "different loop" in str(error):
                raise ApplicationError(
                    "this is one aiohttp Application, which runs on one event loop only: give a "
                    "function that makes one for each loop, with --factory"
                ) from error
            raise ApplicationError(
                f"the application did not start: {one_line(error)}. Start what it needs"
            ) from error

    def protocol(self) -> asyncio.Protocol:
        assert self._runner.server
        return Connection(self._runner.server, self)

    def facts(self, protocol: asyncio.Protocol) -> dict[str, str]:
        assert isinstance(protocol, Connection)
        return {"server": f"aiohttp {aiohttp.__version__}", **protocol.facts()}

    async def close(self) -> None:
        await self._runner.cleanup()


# -------------------------------------------------------------------------------------- application
# A small application: one route, answered with a body of constant length.


def requests(_response_bytes: int) -> list[dict[str, Any]]:
    """A GET of the one route."""
    return [{"path": "/", "status": 200}]


def make(worker: Worker, per_request: PerRequest, response_bytes: int) -> BaseServer:
    """Make the server of one worker."""
    return OnAiohttp(worker, lambda: application(per_request, response_bytes))


def application(per_request: PerRequest, response_bytes: int) -> web.Application:
    """Make the application."""
    body = b"x" * response_bytes

    async def answer(_request: web.Request) -> web.Response:
        await per_request.done()
        return web.Response(body=body, content_type="text/plain")

    made = web.Application()
    made.router.add_get("/", answer)
    return made
