"""The event loop of services, and of the clients that measure them: the fastest installed."""

import asyncio
import importlib


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Make a uvloop if it is installed, else asyncio's own loop."""
    try:
        uvloop = importlib.import_module("uvloop")
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop
