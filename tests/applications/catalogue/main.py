"""A catalogue in memory that requests read: what forked processes share until it is read.

scaling app tests.applications.catalogue.main:create_app --factory
"""

import random
from typing import Any

from tests.applications.faults.asgi import Message, Receive, Send, no_lifespan, respond

ITEMS = [{"id": key, "name": f"item {key}", "price": key / 4} for key in range(100_000)]
READ = 1_000  # items that a request looks at


def create_app() -> Any:
    """An application that answers with the number of items it has looked at."""

    async def app(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await no_lifespan(receive, send)
            return
        keys = (random.randrange(len(ITEMS)) for _ in range(READ))
        right = sum(ITEMS[key]["id"] == key for key in keys)
        await respond(send, {"looked_at": right})

    return app
