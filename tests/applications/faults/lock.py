"""One asyncio.Lock for all loops: it belongs to the first loop that waits for it."""

import asyncio

from .asgi import answering

LOCK = asyncio.Lock()


@answering
async def application(path: str) -> object:
    """Answer, one request at a time."""
    async with LOCK:
        await asyncio.sleep(0.001)
    return {"path": path}
