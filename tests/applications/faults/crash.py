"""An extension that crashes when two threads are inside it, which the GIL has prevented so far."""

import ctypes
import threading

from .asgi import answering

inside: list[str] = []
first = threading.Lock()  # two crashes at once would hide where they are


def extension() -> None:
    """Stand in for C code."""
    inside.append("")
    for _ in range(1_000):
        pass
    if len(inside) > 1 and first.acquire(blocking=False):
        ctypes.string_at(0)
    inside.pop()


@answering
async def application(path: str) -> object:
    """Call the extension, then answer."""
    extension()
    return {"path": path}
