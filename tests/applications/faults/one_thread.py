"""Synchronous code of all loops runs in asgiref's one thread."""

import time

from asgiref.sync import sync_to_async

from .asgi import Message, Receive, Send, no_lifespan, respond


@sync_to_async
def stock() -> int:
    """Ask a database, say."""
    time.sleep(0.001)
    return 3


async def application(scope: Message, receive: Receive, send: Send) -> None:
    """Answer with what synchronous code returned."""
    if scope["type"] == "lifespan":
        await no_lifespan(receive, send)
        return
    await respond(send, {"tea": await stock()})
