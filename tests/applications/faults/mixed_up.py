"""The current user is a global: nothing awaits while it is used, so one loop never mixes it up."""

from .asgi import Message, Receive, Send, no_lifespan, respond
from .work import work

current = ""


def greeting() -> str:
    """Say hello to the current user, after some work."""
    work()
    return f"hello {current}"


async def application(scope: Message, receive: Receive, send: Send) -> None:
    """Greet the user whose name is the path."""
    global current  # noqa: PLW0603
    if scope["type"] == "lifespan":
        await no_lifespan(receive, send)
        return
    current = scope["path"].removeprefix("/")
    await respond(send, {"greeting": greeting()})
