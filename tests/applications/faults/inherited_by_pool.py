"""A thread of a pool inherits the context of the request that started it, and keeps it."""

import asyncio
from contextvars import ContextVar

from .asgi import answering
from .work import work

user: ContextVar[str] = ContextVar("user", default="nobody")


def audited() -> str:
    """Who does it: nobody in a thread, where no request has set it."""
    work()
    return user.get()


@answering
async def application(path: str) -> object:
    """Answer with the user that the pool's thread sees."""
    user.set(path.removeprefix("/"))
    seen = await asyncio.get_running_loop().run_in_executor(None, audited)
    return {"path": path, "audited": seen}
