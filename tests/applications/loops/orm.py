"""Synchronous code through asgiref, as Django runs it."""

import time

from asgiref.sync import sync_to_async
from fastapi import FastAPI

app = FastAPI()
mended = FastAPI()


def query() -> int:
    """Ask a database."""
    time.sleep(0.001)
    return 3


@app.get("/")
async def stock() -> dict[str, int]:
    """Ask in the one thread of this process."""
    return {"tea": await sync_to_async(query)()}


@mended.get("/")
async def stock_of_loop() -> dict[str, int]:
    """Ask in a pool."""
    return {"tea": await sync_to_async(query, thread_sensitive=False)()}
