"""Nothing is wrong, although all loops share it: each loop has its own pool, and the count a lock.

Time, count and thread differ at each request, and are no fault. In `app.state` loops put what is
equal and cannot change, and requests what is theirs. Twins of faults are mounted.
"""

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import PurePath
from typing import TypedDict

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route

from . import built_once, own_context

COUNTING = threading.Lock()
count = 0


class State(TypedDict):
    """What each loop has of its own."""

    pool: asyncio.Queue[int]


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[State]:
    """Make the pool of one loop."""
    app.state.version, app.state.place = "1", ("eu", PurePath("/srv"))
    pool: asyncio.Queue[int] = asyncio.Queue()
    pool.put_nowait(1)
    yield {"pool": pool}


async def item(request: Request) -> JSONResponse:
    """Wait for the one member of the pool, then answer."""
    global count  # noqa: PLW0603
    pool = request.state.pool
    member = await pool.get()
    await asyncio.sleep(0.001)
    pool.put_nowait(member)
    with COUNTING:
        count += 1
    name = request.path_params["name"]
    request.app.state.last = [name]
    return JSONResponse(
        {"name": name, "at": time.time(), "count": count, "worker": threading.get_native_id()}
    )


application = Starlette(
    routes=[
        Route("/items/{name}", item),
        Mount("/context", own_context.application),
        Mount("/once", built_once.application),
    ],
    middleware=[Middleware(GZipMiddleware)],
    lifespan=lifespan,
)
