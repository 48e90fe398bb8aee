"""A server in this very process whose answers a test makes."""

import contextlib
from collections.abc import AsyncIterator, Callable

from aiohttp import web

from workers.services.serving.listening import listen, url_of

type Answer = Callable[[web.BaseRequest], web.StreamResponse | None]


@contextlib.asynccontextmanager
async def answering(answer: Answer) -> AsyncIterator[str]:
    """Its URL while the block runs. An answer of None closes the connection instead."""

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        response = answer(request)
        if response is None:
            assert request.transport
            request.transport.close()
        return response or web.Response()

    runner = web.ServerRunner(web.Server(handle, access_log=None))
    await runner.setup()
    listening = listen("127.0.0.1", 0)
    await web.SockSite(runner, listening).start()
    yield url_of(listening)
    await runner.cleanup()
