"""A row as JSON, with Starlette."""

import contextlib
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from workers.workloads.parts.stack.rows import AsyncRows


def make() -> Starlette:
    """Make the application of one worker."""
    rows = AsyncRows()

    async def row(_request: Request) -> JSONResponse:
        return JSONResponse(await rows.any())

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        await rows.open()
        yield
        await rows.close()

    return Starlette(routes=[Route("/row", row)], lifespan=lifespan)
