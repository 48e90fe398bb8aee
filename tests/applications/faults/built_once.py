"""The sound twin of `built_lazily`: a lock guards the first use."""

import threading

from .asgi import Message, Receive, Send, no_lifespan, respond
from .work import work

BUILDING = threading.Lock()
schema: dict[str, str] = {}


def title() -> str:
    """Build the schema if there is none, one thread at a time."""
    with BUILDING:
        if not schema:
            schema["version"] = "1"
            work()
            schema["title"] = "stock"
    return schema["title"]


async def application(scope: Message, receive: Receive, send: Send) -> None:
    """Answer with the title of the schema."""
    if scope["type"] == "lifespan":
        await no_lifespan(receive, send)
        return
    await respond(send, {"title": title(), "path": scope["path"]})
