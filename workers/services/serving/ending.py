"""How a local server learns that it is time to end: a signal, or the end of its standard input.

Whoever starts it with `--until-eof` holds the other end of a pipe. When that process is gone,
killed or not, the pipe ends, and so does the server.
"""

import asyncio
import contextlib
import os
import signal
import threading

SIGNALS = (signal.SIGINT, signal.SIGTERM)
STDIN = 0
CHUNK_BYTES = 4_096


def told_to_end(*, until_eof: bool) -> asyncio.Event:
    """Return an event of the running loop that is set when the server is to end."""
    loop = asyncio.get_running_loop()
    told = asyncio.Event()
    for number in SIGNALS:
        try:
            loop.add_signal_handler(number, told.set)
        except NotImplementedError:  # Windows: KeyboardInterrupt ends the loop instead
            break
    if until_eof:
        # A thread, since files and terminals cannot be polled on every loop.
        threading.Thread(target=_wait_for_eof, args=(loop, told), name="stdin", daemon=True).start()
    return told


def _wait_for_eof(loop: asyncio.AbstractEventLoop, told: asyncio.Event) -> None:
    # os.read, not sys.stdin: a daemon thread inside a buffered read breaks interpreter shutdown.
    with contextlib.suppress(OSError):  # no standard input at all is the end of it
        while os.read(STDIN, CHUNK_BYTES):
            pass
    with contextlib.suppress(RuntimeError):  # the loop is closed: the server has ended already
        loop.call_soon_threadsafe(told.set)
