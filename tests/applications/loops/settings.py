"""A signal handler that the lifespan sets."""

import signal
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI


def read_again(*_: object) -> None:
    """Read the settings again."""


@asynccontextmanager
async def sets_handler(app: FastAPI) -> AsyncIterator[None]:
    """Read the settings at a SIGHUP."""
    signal.signal(signal.SIGHUP, read_again)
    yield


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """The same where Python allows it."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGHUP, read_again)
    yield


async def stock() -> dict[str, int]:
    """A constant answer."""
    return {"tea": 3}


app = FastAPI(lifespan=sets_handler)
mended = FastAPI(lifespan=lifespan)
app.get("/")(stock)
mended.get("/")(stock)
