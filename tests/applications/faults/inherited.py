"""A ContextVar holds a dict from the import on, and every thread that is started inherits it."""

from contextvars import ContextVar

from .asgi import Message, Receive, Send, no_lifespan, respond
from .work import work

current: ContextVar[dict[str, str]] = ContextVar("current")


def request() -> dict[str, str]:
    """What belongs to this request: made where there is none yet."""
    try:
        return current.get()
    except LookupError:
        current.set({})
        return current.get()


request()["user"] = "nobody"  # of the code that runs at import


async def application(scope: Message, receive: Receive, send: Send) -> None:
    """Greet the user whose name is the path."""
    if scope["type"] == "lifespan":
        await no_lifespan(receive, send)
        return
    request()["user"] = scope["path"].removeprefix("/")
    work()
    await respond(send, {"greeting": f"hello {request()['user']}"})
