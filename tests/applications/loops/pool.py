"""A pool in `app.state`, and one that the lifespan yields."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request


class Pool:
    """Connections to a database, which belong to the loop that opens them."""

    def ask(self) -> dict[str, int]:
        """Ask the database."""
        return {"tea": 3}


@asynccontextmanager
async def overwrites(app: FastAPI) -> AsyncIterator[None]:
    """Open connections."""
    app.state.pool = Pool()
    yield


app = FastAPI(lifespan=overwrites)


@app.get("/")
async def stock(request: Request) -> dict[str, int]:
    """Ask through the application's pool."""
    found: dict[str, int] = request.app.state.pool.ask()
    return found


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[dict[str, Pool]]:
    """Open connections."""
    yield {"pool": Pool()}


mended = FastAPI(lifespan=lifespan)


@mended.get("/")
async def stock_of_loop(request: Request) -> dict[str, int]:
    """Ask through the pool of this loop."""
    found: dict[str, int] = request.state.pool.ask()
    return found
