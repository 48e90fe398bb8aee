"""It looks whether there is one, then takes it: on one loop nothing comes between the two."""

import time

from .asgi import Message, Receive, Send, no_lifespan, respond

free = [1]


def use() -> None:
    """Take the member of the pool, if it is free, and put it back."""
    if free:
        time.sleep(0.001)
        member = free.pop()
        time.sleep(0.001)
        free.append(member)


async def application(scope: Message, receive: Receive, send: Send) -> None:
    """Use the pool, then answer."""
    if scope["type"] == "lifespan":
        await no_lifespan(receive, send)
        return
    use()
    await respond(send, {"path": scope["path"]})
