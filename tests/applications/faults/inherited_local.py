"""As `inherited_by_pool`, with a `Local` of asgiref: sound since asgiref 3.12."""

import asyncio

from asgiref.local import Local

from .asgi import Message, Receive, Send, no_lifespan, respond
from .work import work

current = Local()


def audited() -> str:
    """Who does it: nobody in a thread, where no request has set it."""
    work()
    return getattr(current, "user", "nobody")


async def application(scope: Message, receive: Receive, send: Send) -> None:
    """Answer with the user that the pool's thread sees."""
    if scope["type"] == "lifespan":
        await no_lifespan(receive, send)
        return
    current.user = scope["path"].removeprefix("/")
    seen = await asyncio.get_running_loop().run_in_executor(None, audited)
    await respond(send, {"path": scope["path"], "audited": seen})
