"""Standard input of a generator process: an asyncio stream whose end ends the process at once.

A thread reads it from the start, so the end is noticed also while connections are being opened.
"""

import asyncio
import contextlib
import os
import threading

STDIN = 0
CHUNK_BYTES = 65_536
LINE_MOST_BYTES = 2**30  # a line holds the whole list of requests


def read_stdin() -> asyncio.StreamReader:
    """Read standard input from now on, for the running loop."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LINE_MOST_BYTES, loop=loop)

    def read() -> None:
        # os.read: a daemon thread inside a buffered read breaks interpreter shutdown.
        with contextlib.suppress(OSError):  # a closed standard input counts as ended
            while data := os.read(STDIN, CHUNK_BYTES):
                with contextlib.suppress(RuntimeError):  # the loop is closed
                    loop.call_soon_threadsafe(reader.feed_data, data)
        os._exit(1)  # the process that wanted the result is gone

    threading.Thread(target=read, name="stdin", daemon=True).start()
    return reader
