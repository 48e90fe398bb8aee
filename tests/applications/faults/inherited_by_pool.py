"""A thread of a pool inherits the context of the request that started it, and keeps it."""

import asyncio
from contextvars import ContextVar

from .asgi import Message, Receive, Send, no_lifespan, respond
from .work import work

user: ContextVar[str] = ContextVar("user", default="nobody")


def audited() -> str:
    """Who does it: nobody in a thread, where no request has set it."""
    work()
    return user.get()


async def application(scope: Message, receive: Receive, send: Send) -> None:
    """Answer with the user that the pool's thread sees."""
    if scope["type"] == "lifespan":
        await no_lifespan(receive, send)
        return
    user.set(scope["path"].removeprefix("/"))
    seen = await asyncio.get_running_loop().run_in_executor(None, audited)
    await respond(send, {"path": scope["path"], "audited": seen})
