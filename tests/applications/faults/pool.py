"""One pool of connections for all loops: its queue belongs to the first loop that waits for it."""

import asyncio

from .asgi import answering

POOL: asyncio.Queue[int] = asyncio.Queue()
POOL.put_nowait(1)


@answering
async def application(path: str) -> object:
    """Answer with a connection from the pool."""
    connection = await POOL.get()
    try:
        await asyncio.sleep(0.001)
    finally:
        POOL.put_nowait(connection)
    return {"path": path}
