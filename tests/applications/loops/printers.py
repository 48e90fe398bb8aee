"""It looks whether there is one, then takes it; and the same with a lock."""

import threading
import time

from fastapi import FastAPI

app = FastAPI()
mended = FastAPI()
free = ["printer"]
lock = threading.Lock()


def label() -> None:
    """Print one, if a printer is free."""
    if free:
        time.sleep(0.001)  # another thread's turn
        printer = free.pop()
        time.sleep(0.001)
        free.append(printer)


@app.get("/")
async def stock() -> dict[str, int]:
    """Print a label, then answer."""
    label()
    return {"tea": 3}


@mended.get("/")
async def stock_with_lock() -> dict[str, int]:
    """The same, one loop at a time."""
    with lock:
        label()
    return {"tea": 3}
