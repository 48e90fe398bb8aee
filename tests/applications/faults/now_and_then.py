"""It answers 503 now and then once there are several loops, and raises nothing."""

import threading
from itertools import count

from .asgi import Message, Receive, Send, no_lifespan

loops: set[int] = set()
requests = count(1)


async def application(scope: Message, receive: Receive, send: Send) -> None:
    """Each tenth answer is another one, unless there is one loop."""
    if scope["type"] == "lifespan":
        await no_lifespan(receive, send)
        return
    loops.add(threading.get_ident())
    status = 503 if len(loops) > 1 and next(requests) % 10 == 0 else 200
    await send({"type": "http.response.start", "status": status, "headers": []})
    await send({"type": "http.response.body", "body": b"tea"})
