"""A task that the lifespan starts."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count

from fastapi import FastAPI


async def send_newsletters() -> None:
    """Send each of them, once a day."""
    for day in count(1):
        await asyncio.sleep(86_400)
        print(f"newsletter {day}")


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Send while the application runs."""
    task = asyncio.create_task(send_newsletters())
    yield
    task.cancel()


app = FastAPI(lifespan=lifespan)


@app.get("/")
async def stock() -> dict[str, int]:
    """A constant answer."""
    return {"tea": 3}
