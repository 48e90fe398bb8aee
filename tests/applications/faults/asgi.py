"""What small ASGI applications need."""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

type Message = MutableMapping[str, Any]
type Receive = Callable[[], Awaitable[Message]]
type Send = Callable[[Message], Awaitable[None]]
type Application = Callable[[Message, Receive, Send], Awaitable[None]]

JSON = (b"content-type", b"application/json")


async def no_lifespan(receive: Receive, send: Send) -> None:
    """Start and end without doing anything."""
    for _ in ("startup", "shutdown"):
        event = (await receive())["type"]
        await send({"type": f"{event}.complete"})


async def respond(send: Send, document: object) -> None:
    """Answer with JSON."""
    await send({"type": "http.response.start", "status": 200, "headers": [JSON]})
    await send({"type": "http.response.body", "body": json.dumps(document).encode()})


def answering(answer: Callable[[str], Awaitable[object]]) -> Application:
    """The application that answers each path with what this function returns, as JSON."""

    async def application(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await no_lifespan(receive, send)
        else:
            await respond(send, await answer(scope["path"]))

    return application
