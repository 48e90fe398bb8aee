"""The sound twin of `inherited`: each request sets what it reads."""

import asyncio
from contextvars import ContextVar

from .asgi import answering
from .work import work

current: ContextVar[dict[str, str]] = ContextVar("current")
current.set({"user": "nobody"})


def audited() -> str:
    """Who does it."""
    work()
    return current.get()["user"]


@answering
async def application(path: str) -> object:
    """Answer with the user that the pool's thread sees, in a copy of this request's context."""
    current.set({"user": path.removeprefix("/")})
    work()
    return {"greeting": f"hello {await asyncio.to_thread(audited)}"}
