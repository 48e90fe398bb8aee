"""One pool of connections for all loops: its queue belongs to the first loop that waits for it."""

import asyncio

from .asgi import Message, Receive, Send, no_lifespan, respond

POOL: asyncio.Queue[int] = asyncio.Queue()
POOL.put_nowait(1)


async def application(scope: Message, receive: Receive, send: Send) -> None:
    """Answer with a connection from the pool."""
    if scope["type"] == "lifespan":
        await no_lifespan(receive, send)
        return
    connection = await POOL.get()
    try:
        await asyncio.sleep(0.001)
    finally:
        POOL.put_nowait(connection)
    await respond(send, {"path": scope["path"]})
