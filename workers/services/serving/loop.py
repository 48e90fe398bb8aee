"""The event loop of local servers and of what measures their ceilings: the quickest there is."""

import asyncio
import importlib


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Make a uvloop where it is installed, asyncio's own loop elsewhere."""
    try:
        uvloop = importlib.import_module("uvloop")
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop
