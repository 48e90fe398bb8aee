"""A question to an application: whether a path takes WebSocket connections."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import unquote

from workers.workloads.parts.first_request import first_answer
from workers.workloads.parts.servers import BaseServer

SWITCHING = 101  # the status of an answer that accepts it
ANSWER_S = 1.0
HEADERS = {
    "upgrade": "websocket",
    "connection": "upgrade",
    "sec-websocket-version": "13",
    "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
}

type Asgi = Callable[[dict[str, Any], Any, Any], Awaitable[None]]


async def on_websocket(server: BaseServer, path: str) -> str:
    """Ask for a connection to that path: it is `accepted` or `refused`.

    An ASGI application is called as it is, since its server may have no protocol of WebSockets.
    """
    application: Asgi | None = getattr(server, "answering", None)
    if application:
        accepted = await _accepts(application, path)
    else:
        answer = await first_answer(server, "http", {"path": path, "headers": HEADERS})
        accepted = answer.status == SWITCHING
    return "accepted" if accepted else "refused"


async def _accepts(application: Asgi, path: str) -> bool:
    answered: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    events = iter(["websocket.connect"])

    async def receive() -> dict[str, Any]:
        return {"type": next(events, "websocket.disconnect"), "code": 1000}

    async def send(message: dict[str, Any]) -> None:
        if not answered.done():
            answered.set_result(message["type"])

    task = asyncio.ensure_future(application(_scope(path), receive, send))
    either: list[asyncio.Future[Any]] = [task, answered]
    await asyncio.wait(either, timeout=ANSWER_S, return_when=asyncio.FIRST_COMPLETED)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError, Exception):  # of a route that refuses it
        await task
    return answered.done() and answered.result() == "websocket.accept"


def _scope(path: str) -> dict[str, Any]:
    place, _, query = path.partition("?")
    return {
        "type": "websocket",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "scheme": "ws",
        "path": unquote(place),
        "raw_path": place.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in HEADERS.items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
        "subprotocols": [],
        "state": {},
    }
