"""A user's ASGI application that can be made to fail: its loop blocked, its process killed.

It is given to servers as they are deployed. `SCALING_FAULTY` names the application; paths below
`/__scaling/` are answered here, everything else by the application.
"""

import json
import os
import signal
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

from workers.workloads.parts.applications import load_application

VARIABLE = "SCALING_FAULTY"  # JSON: path of the application, whether it is a factory
PLACE = "/__scaling/"

type Send = Callable[[dict[str, Any]], Awaitable[None]]


def make() -> Callable[..., Awaitable[None]]:
    """One application, for one loop."""
    path, factory = json.loads(os.environ[VARIABLE])
    application = load_application(path, factory, "asgi").make()

    async def faulty(scope: dict[str, Any], receive: Any, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(PLACE):
            await _answer(send, _done(scope["path"].removeprefix(PLACE), scope["query_string"]))
        else:
            await application(scope, receive, send)

    return faulty


def _done(what: str, query: bytes) -> bytes:
    """Do it; return which loop this is."""
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
