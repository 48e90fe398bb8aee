"""A user's application that can be made to fail: its worker blocked, its process killed.

It is given to servers as they are deployed. `SCALING_FAULTY` names the application; paths below
`/__scaling/` are answered here, everything else by the application.
"""

import json
import os
import signal
import threading
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from workers.workloads.parts.applications import load_application

VARIABLE = "SCALING_FAULTY"  # JSON: path of the application, whether it is a factory, interface
PLACE = "/__scaling/"

type Send = Callable[[dict[str, Any]], Awaitable[None]]


def make() -> Any:
    """One application, for one loop, or for all threads of a process."""
    application = load_application(*json.loads(os.environ[VARIABLE]))
    made = application.make()
    around = {"asgi": _asgi, "aiohttp": _aiohttp, "wsgi": _wsgi}
    assert application.interface
    return around[application.interface](made)


def _asgi(application: Any) -> Callable[..., Awaitable[None]]:
    async def faulty(scope: dict[str, Any], receive: Any, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(PLACE):
            await _answer(send, _done(scope["path"], scope["query_string"]))
        else:
            await application(scope, receive, send)

    return faulty


def _aiohttp(application: Any) -> Any:
    from aiohttp import web  # only applications of it need that

    async def faulty(request: web.Request) -> web.Response:
        return web.Response(body=_done(request.path, request.query_string.encode()))

    application.router.add_get(PLACE + "{what}", faulty)
    return application


def _wsgi(application: Any) -> Callable[..., Iterable[bytes]]:
    def faulty(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if not environ["PATH_INFO"].startswith(PLACE):
            answered: Iterable[bytes] = application(environ, start_response)
            return answered
        # Any thread answers: a connection belongs to the process.
        body = _done(environ["PATH_INFO"], environ["QUERY_STRING"].encode()).partition(b".")[0]
        start_response("200 OK", [("Content-Length", str(len(body)))])
        return [body]

    return faulty


def _done(path: str, query: bytes) -> bytes:
    """Do it; return which process and thread this is."""
    what = path.removeprefix(PLACE)
    if what == "block":
        time.sleep(float(query))  # as a synchronous call in a coroutine does
    elif what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    return f"{os.getpid()}.{threading.get_native_id()}".encode()


async def _answer(send: Send, body: bytes) -> None:
    length = str(len(body)).encode()
    start = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]}
    await send(start)
    await send({"type": "http.response.body", "body": body})
