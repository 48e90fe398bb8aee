"""Two locks, taken in two orders: one thread never waits for itself, two wait for each other."""

import threading

from .asgi import Message, Receive, Send, no_lifespan, respond

STOCK, ORDERS = threading.Lock(), threading.Lock()


def count(stock_first: bool) -> int:
    """Do something with both."""
    first, second = (STOCK, ORDERS) if stock_first else (ORDERS, STOCK)
    with first:
        found = sum(range(100))
        with second:
            return found


async def application(scope: Message, receive: Receive, send: Send) -> None:
    """Answer with what was counted."""
    if scope["type"] == "lifespan":
        await no_lifespan(receive, send)
        return
    await respond(send, {"count": count(scope["path"] == "/ada")})
