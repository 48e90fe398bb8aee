"""The ASGI application with light and heavy requests on uvicorn: heavy ones block, or do not."""

import asyncio
import threading

from workers import Worker
from workers.workloads.parts.mixed import BODY, LIGHT, Work, heavy_work
from workers.workloads.parts.servers.on_uvicorn import (
    Message,
    OnUvicorn,
    Receive,
    Send,
    lifespan,
    respond,
)


class Mixed:
    """The application of one loop.

    Heavy work is done on the loop, which answers nothing else meanwhile, or `in_thread`: in the
    loop's own pool of threads. `heavy_in` is where it really was: `loop` or `thread`.
    """

    def __init__(self, *, in_thread: bool) -> None:
        self._in_thread = in_thread
        self.heavy_in = ""

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await lifespan(receive, send)
            return
        work = heavy_work(scope["path"])
        if work is None and scope["path"] != LIGHT:
            await respond(send, 404, b"not found")
            return
        if work and self._in_thread:
            await asyncio.to_thread(self._do, work, threading.get_ident())
        elif work:
            self._do(work, threading.get_ident())
        await respond(send, 200, BODY)

    def _do(self, work: Work, loop_thread: int) -> None:
        self.heavy_in = "loop" if threading.get_ident() == loop_thread else "thread"
        work()


def make(worker: Worker, application: Mixed) -> OnUvicorn:
    """Make the server of one worker."""
    return OnUvicorn(worker, lambda: application)
