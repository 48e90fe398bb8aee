"""`app.state` is set by each loop's lifespan: the last one wins, and its end is everyone's."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    """Make the cache of one loop: it is equal to that of another, and another one."""
    app.state.cache = {"tea": 3}
    yield


async def stock(request: Request) -> JSONResponse:
    """Answer from the cache."""
    return JSONResponse(request.app.state.cache)


def create_app() -> Starlette:
    """The remedy: an application for each loop."""
    return Starlette(routes=[Route("/stock", stock)], lifespan=lifespan)


application = create_app()
