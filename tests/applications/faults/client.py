"""One client for all loops, made by the first lifespan: its answers come to that loop alone."""

import asyncio

from .asgi import Message, Receive, Send, respond


class Client:
    """A client whose connection is read by a task of the loop that made it."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()

    def fetch(self) -> asyncio.Future[str]:
        """What the server will have sent."""
        answer: asyncio.Future[str] = self.loop.create_future()
        self.loop.call_soon_threadsafe(self.loop.call_later, 0.001, answer.set_result, "stock: 3")
        return answer


client: Client | None = None


async def application(scope: Message, receive: Receive, send: Send) -> None:
    """Answer with what the client has fetched."""
    global client  # noqa: PLW0603
    if scope["type"] == "lifespan":
        await receive()
        client = client or Client()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})
        return
    assert client
    await respond(send, {"path": scope["path"], "fetched": await client.fetch()})
