"""Any ASGI application on uvicorn with httptools, with connections made by `protocol`.

It is uvicorn's own `Server` with its lifespan and its clock, and uvicorn's own protocol. Only the
sockets are not its own: `serve(sockets=[])` listens nowhere.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Literal, cast

import httptools
import uvicorn
import uvicorn.lifespan.off
import uvicorn.lifespan.on  # uvicorn imports one of them when it starts: too late to be shared
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from workers import Worker
from workers.workloads.parts.applications import ApplicationError, one_line
from workers.workloads.parts.servers.base import CLOSING_S, KEEP_ALIVE_S, BaseServer, on_off

type Message = MutableMapping[str, Any]
type Receive = Callable[[], Awaitable[Message]]
type Send = Callable[[Message], Awaitable[None]]
type Lifespan = Literal["auto", "on", "off"]
type Application = Callable[[Message, Receive, Send], Awaitable[None]]

STARTING_S = 0.005  # between two looks at whether it has started


class Counting:
    """An ASGI application that counts each answer of another one once it is written."""

    def __init__(self, application: Application, counted: BaseServer) -> None:
        self._application = application
        self._counted = counted
        self.lifespan_failure = ""  # what it said when it did not start, in one line

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Call the application; what is no HTTP request is not counted."""
        if scope["type"] != "http":
            await self._not_http(scope, receive, send)
            return
        status = body_bytes = 0

        def noted(message: Message) -> Awaitable[None]:
            nonlocal status, body_bytes
            if message["type"] == "http.response.start":
                status = message["status"]
            else:
                body_bytes += len(message.get("body", b""))
            return send(message)

        try:
            await self._application(scope, receive, noted)
        except Exception as error:  # uvicorn answers with status 500
            self._counted.worker.fail(f"{type(error).__name__}: {error}")
            raise
        self._counted.answered(status, body_bytes)

    async def _not_http(self, scope: Message, receive: Receive, send: Send) -> None:
        def noted(message: Message) -> Awaitable[None]:
            if message["type"] == "lifespan.startup.failed" and not self.lifespan_failure:
                # Frameworks send a traceback, of which the last line is the error.
                said = str(message.get("message", "")).strip().splitlines()
                self.lifespan_failure = said[-1] if said else "it gave no reason"
            return send(message)

        try:
            await self._application(scope, receive, noted)
        except Exception as error:
            self.lifespan_failure = one_line(error)
            raise


class Connection(HttpToolsProtocol):
    """A connection of uvicorn that notes if it had no request."""

    def __init__(self, server: uvicorn.Server, counted: BaseServer) -> None:
        super().__init__(server.config, server.server_state, server.lifespan.state)
        self._counted = counted

    def connection_lost(self, exc: Exception | None) -> None:
        """Note a connection without a request."""
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
        self._counting = Counting(self._application, self)
        config = uvicorn.Config(
            self._counting,
            http=HttpToolsProtocol,
            ws="none",
            lifespan=cast(Lifespan, lifespan),
            interface="asgi3",
            log_config=None,  # it would configure logging for the whole process
            access_log=False,
            timeout_keep_alive=round(KEEP_ALIVE_S),
            timeout_graceful_shutdown=round(CLOSING_S),
        )
        self._server = uvicorn.Server(config)
        self._serving: asyncio.Task[None] | None = None

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
        """The protocol of a new connection, as uvicorn makes it."""
        return Connection(self._server, self)

    def facts(self, protocol: asyncio.Protocol) -> dict[str, str]:
        """What is in use, read from a connection."""
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
        """Close all connections, then the application."""
        if self._serving and self._server.started:
            self._server.should_exit = True
            await self._serving

    async def _serve(self) -> None:
        with contextlib.suppress(SystemExit):  # if the lifespan fails; it would end the whole loop
            await self._server.serve(sockets=[])
        if not self._server.started:
            why = self._counting.lifespan_failure
            raise ApplicationError(
                f"the application did not start: its lifespan failed: {why}. Start what it needs, "
                "or leave it out with --lifespan off"
            )
