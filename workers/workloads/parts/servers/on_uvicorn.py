"""ASGI applications on uvicorn with httptools, with connections made by `protocol`.

It is uvicorn's own `Server` with its lifespan and its clock, and uvicorn's own protocol. Only the
sockets are not its own: `serve(sockets=[])` listens nowhere.
"""

import asyncio
import contextlib
import importlib.util
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Literal, cast

import httptools
import uvicorn
import uvicorn.lifespan.off
import uvicorn.lifespan.on  # uvicorn imports one of them when it starts: too late to be shared
from uvicorn.protocols.http import httptools_impl

from workers import Worker
from workers.workloads.parts.applications import ApplicationError, one_line
from workers.workloads.parts.servers import (
    CLOSING_S,
    KEEP_ALIVE_S,
    BaseServer,
    on_off,
)
from workers.workloads.parts.work import PerRequest

type Message = MutableMapping[str, Any]
type Receive = Callable[[], Awaitable[Message]]
type Send = Callable[[Message], Awaitable[None]]
type Application = Callable[[Message, Receive, Send], Awaitable[None]]

STARTING_S = 0.005  # between two looks at whether it has started


class Lifespans:
    """An application's lifespan, and why it did not start, in one line. It gets no requests."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self.failure = ""

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Call the application."""

        def noted(message: Message) -> Awaitable[None]:
            if message["type"] == "lifespan.startup.failed" and not self.failure:
                # Frameworks send a traceback, of which the last line is the error.
                lines = str(message.get("message", "")).strip().splitlines()
                self.failure = lines[-1] if lines else "it gave no reason"
            return send(message)

        try:
            await self._application(scope, receive, noted)
        except Exception as error:
            self.failure = one_line(error)
            raise


COMPLETE = httptools_impl.HttpToolsProtocol.on_response_complete  # called for each request


class ErrorLog(logging.LoggerAdapter[logging.Logger]):
    """uvicorn's log of a connection, which also notes what an application raised."""

    def __init__(self, logger: logging.Logger, worker: Worker) -> None:
        super().__init__(logger)
        self._worker = worker

    @property
    def level(self) -> int:
        """The level of the log itself, which connections ask for."""
        return self.logger.level

    def error(self, msg: object, *args: object, exc_info: Any = None, **kwargs: Any) -> None:
        """Note an error of the application, and log it."""
        if isinstance(exc_info, BaseException):
            self._worker.note(f"{type(exc_info).__name__}: {exc_info}")
        super().error(msg, *args, exc_info=exc_info, **kwargs)


class Connection(httptools_impl.HttpToolsProtocol):
    """A connection of uvicorn that counts each answer once it is written."""

    # With this one it has 29 attributes. Beyond 30, as with slots, access to all is slower.
    _counted: "OnUvicorn"

    def __init__(self, server: uvicorn.Server, counted: "OnUvicorn") -> None:
        super().__init__(server.config, server.server_state, server.lifespan.state)
        self.app = counted.answering
        self._counted = counted
        if counted.has_websockets:
            self.ws_protocol_class = counted.websocket  # type: ignore[assignment]  # makes one, too
        self.logger = cast(logging.Logger, ErrorLog(self.logger, counted.worker))

    def on_response_complete(self) -> None:
        self._counted.worker.operations += 1
        COMPLETE(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._counted.unused += self.cycle is None
        super().connection_lost(exc)


class OnUvicorn(BaseServer):
    """An ASGI application and its server on one worker's loop."""

    def __init__(
        self,
        worker: Worker,
        make: Callable[[], Application],
        *,
        framework: str | None = None,
        lifespan: str = "on",
    ) -> None:
        """`make` makes the application: each loop has its own, unless it returns one object.

        `framework` is what it is written with, for the record.
        """
        super().__init__(worker)
        self._application = make()
        self._framework = framework
        config = uvicorn.Config(
            self._application,
            http=httptools_impl.HttpToolsProtocol,
            ws="none",  # connections have one of their own
            lifespan=cast(Literal["auto", "on", "off"], lifespan),
            interface="asgi3",
            log_config=None,  # it would configure logging for the whole process
            log_level="warning",  # as lines of lower levels are not shown, they are not made
            access_log=False,
            timeout_keep_alive=round(KEEP_ALIVE_S),
            timeout_graceful_shutdown=round(CLOSING_S),
        )
        config.load()
        self.answering = config.loaded_app  # as uvicorn calls it for a request
        config.loaded_app = self._lifespans = Lifespans(self.answering)
        self._server = uvicorn.Server(config)
        self._serving: asyncio.Task[None] | None = None
        self.has_websockets = importlib.util.find_spec("websockets") is not None

    async def start(self) -> None:
        """Start the application, and what uvicorn does beside its connections.

        Raises:
            ApplicationError: the application did not start.
        """
        self._serving = asyncio.create_task(self._serve())
        while not self._server.started:
            if self._serving.done():
                self._serving.result()
            await asyncio.sleep(STARTING_S)

    def protocol(self) -> asyncio.Protocol:
        return Connection(self._server, self)

    def websocket(self, **arguments: Any) -> asyncio.Protocol:
        """The protocol of a connection that has become a WebSocket, as uvicorn makes it.

        Its imports are made for the first one: they cost the others memory.
        """
        from workers.workloads.parts.servers.websockets_uvicorn import CountedWebSocket

        return CountedWebSocket(self.worker, self.answering, **arguments)

    def facts(self, protocol: asyncio.Protocol) -> dict[str, str]:
        assert isinstance(protocol, Connection)
        return {
            "server": f"uvicorn {uvicorn.__version__}",
            **({"framework": self._framework} if self._framework else {}),
            "http_parser": f"{type(protocol.parser).__module__.partition('.')[0]} "
            f"{httptools.__version__}",
            "access_log": on_off(protocol.access_log),
            "debug": on_off(getattr(self._application, "debug", False)),
        }

    async def close(self) -> None:
        if self._serving and self._server.started:
            self._server.should_exit = True
            await self._serving

    async def _serve(self) -> None:
        with contextlib.suppress(SystemExit):  # if the lifespan fails; it would end the whole loop
            await self._server.serve(sockets=[])
        if not self._server.started:
            why = self._lifespans.failure
            raise ApplicationError(
                f"the application did not start: its lifespan failed: {why}. Start what it needs, "
                "or leave it out with --lifespan off"
            )


# -------------------------------------------------------------------------------------- application
# A small application: one route, answered with a body of constant length.

TEXT = (b"content-type", b"text/plain; charset=utf-8")


def requests(_response_bytes: int) -> list[dict[str, Any]]:
    """A GET of the one route."""
    return [{"path": "/", "status": 200}]


def make(worker: Worker, per_request: PerRequest, response_bytes: int) -> BaseServer:
    """Make the server of one worker."""
    return OnUvicorn(worker, lambda: application(per_request, response_bytes))


def application(per_request: PerRequest, response_bytes: int) -> Application:
    """Make the application."""
    body = b"x" * response_bytes

    async def answer(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await lifespan(receive, send)
        elif scope["path"] != "/":
            await respond(send, 404, b"not found")
        elif scope["method"] != "GET":
            await respond(send, 405, b"method not allowed", (b"allow", b"GET"))
        else:
            await per_request.done()
            await respond(send, 200, body)

    return answer


async def lifespan(receive: Receive, send: Send) -> None:
    """Say that the application has started, and later that it has ended."""
    for _ in ("startup", "shutdown"):
        event = (await receive())["type"]
        await send({"type": f"{event}.complete"})


async def respond(send: Send, status: int, body: bytes, *headers: tuple[bytes, bytes]) -> None:
    """Answer a request."""
    length = (b"content-length", str(len(body)).encode())
    start = {"type": "http.response.start", "status": status, "headers": [TEXT, length, *headers]}
    await send(start)
    await send({"type": "http.response.body", "body": body})
