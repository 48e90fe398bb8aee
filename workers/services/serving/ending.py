"""How a service is asked to stop: by a signal, or by the end of its standard input.

A process that starts it with `--until-eof` holds the other end of a pipe. When that process ends,
killed or not, the pipe ends, and so does the service.
"""

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Sequence

SIGNALS = (signal.SIGINT, signal.SIGTERM)
STDIN = 0
CHUNK_BYTES = 4_096


def stop_requested(
    *, until_eof: bool, signals: Sequence[signal.Signals] = SIGNALS
) -> asyncio.Event:
    """Return an event of the running loop that is set when the service has to stop."""
    loop = asyncio.get_running_loop()
    requested = asyncio.Event()
    for number in signals:
        try:
            loop.add_signal_handler(number, requested.set)
        except NotImplementedError:  # Windows: there KeyboardInterrupt ends the loop
            break
    if until_eof:
        # A thread, since files and terminals cannot be polled on every loop.
        threading.Thread(
            target=_wait_for_eof, args=(loop, requested), name="stdin", daemon=True
        ).start()
    return requested


def _wait_for_eof(loop: asyncio.AbstractEventLoop, requested: asyncio.Event) -> None:
    # os.read, not sys.stdin: a daemon thread inside a buffered read breaks interpreter shutdown.
    with contextlib.suppress(OSError):  # a closed standard input counts as ended
        while os.read(STDIN, CHUNK_BYTES):
            pass
    with contextlib.suppress(RuntimeError):  # the loop is closed: the service has already ended
        loop.call_soon_threadsafe(requested.set)
