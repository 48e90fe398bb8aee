"""The sound twin of `inherited` and `inherited_by_pool`: each request sets what it reads."""

import asyncio
from contextvars import ContextVar

from .asgi import Message, Receive, Send, no_lifespan, respond
from .work import work

current: ContextVar[dict[str, str]] = ContextVar("current")
current.set({"user": "nobody"})


def audited() -> str:
    """Who does it."""
    work()
    return current.get()["user"]


async def application(scope: Message, receive: Receive, send: Send) -> None:
    """Answer with the user that the pool's thread sees, in a copy of this request's context."""
    if scope["type"] == "lifespan":
        await no_lifespan(receive, send)
        return
    current.set({"user": scope["path"].removeprefix("/")})
    work()
    await respond(send, {"greeting": f"hello {await asyncio.to_thread(audited)}"})
