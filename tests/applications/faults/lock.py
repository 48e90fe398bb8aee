"""One asyncio.Lock for all loops: it belongs to the first loop that waits for it."""

import asyncio

from .asgi import Message, Receive, Send, no_lifespan, respond

LOCK = asyncio.Lock()


async def application(scope: Message, receive: Receive, send: Send) -> None:
    """Answer, one request at a time."""
    if scope["type"] == "lifespan":
        await no_lifespan(receive, send)
        return
    async with LOCK:
        await asyncio.sleep(0.001)
    await respond(send, {"path": scope["path"]})
