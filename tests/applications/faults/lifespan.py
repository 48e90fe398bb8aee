"""A lifespan that fails in a thread with no word to the server, which goes on as if it had none."""

import asyncio
import signal

from .asgi import Message, Receive, Send, no_lifespan, respond


async def application(scope: Message, receive: Receive, send: Send) -> None:
    """A constant answer."""
    if scope["type"] == "lifespan":
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, print)
        await no_lifespan(receive, send)
        return
    await respond(send, {"tea": 3})
