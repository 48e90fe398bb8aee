"""`app.state` is set by each loop's lifespan: the last one wins, and its end is everyone's."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route


class Cache:
    """What a loop has of its own."""

    def __init__(self) -> None:
        self.stock = {"tea": 3}


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    """Make the cache of one loop."""
    app.state.cache = Cache()
    yield


async def stock(request: Request) -> JSONResponse:
    """Answer from the cache."""
    return JSONResponse(request.app.state.cache.stock)


def create_app() -> Starlette:
    """The remedy: an application for each loop."""
    return Starlette(routes=[Route("/stock", stock)], lifespan=lifespan)


application = create_app()
