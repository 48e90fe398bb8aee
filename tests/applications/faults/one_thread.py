"""Synchronous code of all loops runs in asgiref's one thread."""

import time

from asgiref.sync import sync_to_async

from .asgi import answering


@sync_to_async
def stock() -> int:
    """Ask a database, say."""
    time.sleep(0.001)
    return 3


@answering
async def application(path: str) -> object:
    """Answer with what synchronous code returned."""
    return {"tea": await stock()}
