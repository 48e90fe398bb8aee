"""The site's HTTP: aiohttp's low-level server, which is cheap enough not to be the bottleneck.

One process serves one port.
"""

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable

from aiohttp import web

from workers.services.serving import BACKLOG, url_of
from workers.services.site.pages import HTML, Shelf, missing_page

SHUTDOWN_S = 0.5  # for answers in progress when the site has to stop
SHORTEST_SLEEP_S = 0.001  # libuv rounds shorter sleeps to 0, and the wait would spin

Handler = Callable[[web.BaseRequest], Awaitable[web.Response]]


def handler(shelf: Shelf, delay_s: float) -> Handler:
    """Make the handler of all requests; it waits at least `delay_s` before each answer."""
    missing = missing_page()

    async def answer(request: web.BaseRequest) -> web.Response:
        if delay_s:
            await at_least(delay_s)
        if request.method not in ("GET", "HEAD"):
            return web.Response(status=405, headers={"Allow": "GET, HEAD"})
        page = shelf.find(request.raw_path)
        if page is None:
            return web.Response(status=404, body=missing, headers={"Content-Type": HTML})
        body, content_type = page
        return web.Response(body=body, headers={"Content-Type": content_type})

    return answer


async def at_least(delay_s: float) -> None:
    """Sleep for at least `delay_s`: uvloop's timers may fire a little early."""
    due = time.monotonic() + delay_s
    while (left_s := due - time.monotonic()) > 0:  # noqa: ASYNC110 - it waits for a time, not for an event
        await asyncio.sleep(max(left_s, SHORTEST_SLEEP_S))


@contextlib.asynccontextmanager
async def serving(shelf: Shelf, listening: socket.socket, delay_s: float) -> AsyncIterator[str]:
    """Serve until the block ends; give the URL once it has served a page."""
    server = web.Server(handler(shelf, delay_s), access_log=None)
    runner = web.ServerRunner(server, shutdown_timeout=SHUTDOWN_S)
    await runner.setup()
    try:
        await web.SockSite(runner, listening, backlog=BACKLOG).start()
        await _check(listening)
        yield url_of(listening)
    finally:
        await runner.cleanup()


async def _check(listening: socket.socket) -> None:
    """Fetch a page as a client would.

    Raises:
        ConnectionError: the answer is not a page.
    """
    host, port = listening.getsockname()[:2]
    reader, writer = await asyncio.open_connection(host, port)
    try:
        writer.write(b"GET /news HTTP/1.1\r\nHost: site\r\nConnection: close\r\n\r\n")
        answer = await reader.read()
    finally:
        writer.close()
        await writer.wait_closed()
    if not answer.startswith(b"HTTP/1.1 200 ") or not answer.rstrip().endswith(b"</html>"):
        raise ConnectionError(f"the site failed its own check; it answered {answer[:80]!r}")
