"""A lock that the module makes, and one of each loop."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request

app = FastAPI()
lock = asyncio.Lock()


@app.get("/")
async def stock() -> dict[str, int]:
    """Ask a warehouse that takes one question at a time."""
    async with lock:
        await asyncio.sleep(0.001)
    return {"tea": 3}


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[dict[str, asyncio.Lock]]:
    """Make what belongs to a loop."""
    yield {"lock": asyncio.Lock()}


mended = FastAPI(lifespan=lifespan)


@mended.get("/")
async def stock_of_loop(request: Request) -> dict[str, int]:
    """The same with the lock of this loop."""
    async with request.state.lock:
        await asyncio.sleep(0.001)
    return {"tea": 3}
