"""Two locks, taken in two orders: one thread never waits for itself, two wait for each other."""

import threading
import time

from .asgi import Message, Receive, Send, no_lifespan, respond

STOCK, ORDERS = threading.Lock(), threading.Lock()


def count(stock_first: bool) -> int:
    """Do something with both; the first is kept for long enough to be in another thread's way."""
    first, second = (STOCK, ORDERS) if stock_first else (ORDERS, STOCK)
    with first:
        time.sleep(0.001)
        with second:
            return sum(range(100))


async def application(scope: Message, receive: Receive, send: Send) -> None:
    """Answer with what was counted."""
    if scope["type"] == "lifespan":
        await no_lifespan(receive, send)
        return
    await respond(send, {"count": count(scope["path"] == "/ada")})
