"""A schema is built at the first request, and others see it before it is complete."""

from .asgi import Message, Receive, Send, no_lifespan, respond
from .work import work

schema: dict[str, str] = {}


def title() -> str:
    """Build the schema if there is none, then look into it."""
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
