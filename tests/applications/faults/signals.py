"""Its lifespan sets a signal handler, which Python allows in the main thread only."""

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    """Reload on SIGHUP."""
    before = signal.signal(signal.SIGHUP, lambda *_: None)
    yield
    signal.signal(signal.SIGHUP, before)


async def stock(request: Request) -> JSONResponse:
    """A constant answer."""
    return JSONResponse({"tea": 3})


application = Starlette(routes=[Route("/stock", stock)], lifespan=lifespan)
