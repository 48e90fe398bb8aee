"""Two locks, taken in two orders: one thread never waits for itself, two wait for each other."""

import threading
import time

from .asgi import answering

STOCK, ORDERS = threading.Lock(), threading.Lock()


def count(stock_first: bool) -> int:
    """Do something with both; the first is kept for long enough to be in another thread's way."""
    first, second = (STOCK, ORDERS) if stock_first else (ORDERS, STOCK)
    with first:
        time.sleep(0.001)
        with second:
            return sum(range(100))


@answering
async def application(path: str) -> object:
    """Answer with what was counted."""
    return {"count": count(path == "/ada")}
