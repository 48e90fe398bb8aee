"""Each application made by the factory keeps names of its own, which the others do not have."""

from .asgi import Message, Receive, Send, no_lifespan, respond


def create_app() -> object:
    """Make an application."""
    names: set[str] = set()

    async def application(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await no_lifespan(receive, send)
            return
        if scope["method"] == "PUT":
            names.add(scope["path"])
        await respond(send, sorted(names) if scope["path"] == "/names" else "noted")

    return application
