"""It imports a package whose extension has no support of free-threaded Python: the GIL is on."""

import fontTools.cu2qu  # noqa: F401

from .asgi import Message, Receive, Send, no_lifespan, respond


async def application(scope: Message, receive: Receive, send: Send) -> None:
    """A constant answer."""
    if scope["type"] == "lifespan":
        await no_lifespan(receive, send)
        return
    await respond(send, {"tea": 3})
