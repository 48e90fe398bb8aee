"""Waits of the driver: for what a process writes, for its end, and for an instant.

All runs of the driver wait in one thread. A wait that is cancelled takes nothing with it: what can
be read then is still there for the next one.
"""

import asyncio
import contextlib
import os
import subprocess
import time

CHUNK_BYTES = 65_536
LOOK_EVERY_S = 0.05  # where the system does not report the end of a process
# The event loop's clock is rounded up to milliseconds, and a slice has no more than fifty.
ROUNDED_S = 0.002


async def ready(descriptor: int, limit_s: float | None = None, *, to_write: bool = False) -> bool:
    """Wait until a descriptor can be read or written; False if that takes longer than `limit_s`.

    The descriptor of a process (pidfd) can be read when the process has ended.
    """
    loop = asyncio.get_running_loop()
    is_ready = asyncio.Event()
    if to_write:
        loop.add_writer(descriptor, is_ready.set)
    else:
        loop.add_reader(descriptor, is_ready.set)
    try:
        async with asyncio.timeout(limit_s):
            await is_ready.wait()
    except TimeoutError:
        return is_ready.is_set()
    finally:
        (loop.remove_writer if to_write else loop.remove_reader)(descriptor)
    return True


async def ended(process: subprocess.Popen[bytes], limit_s: float) -> bool:
    """Wait for the end of a process, which keeps its number; False if it takes longer."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except (AttributeError, OSError):  # not on this system, or it has been waited for
        return await _seen_to_end(process, limit_s)
    try:
        return await ready(descriptor, limit_s)
    finally:
        os.close(descriptor)


async def _seen_to_end(process: subprocess.Popen[bytes], limit_s: float) -> bool:
    deadline = time.monotonic() + limit_s
    options = os.WEXITED | os.WNOHANG | os.WNOWAIT
    while process.returncode is None and not os.waitid(os.P_PID, process.pid, options):  # noqa: ASYNC222
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(LOOK_EVERY_S)
    return True


async def until(instant_ns: int) -> None:
    """Wait for an instant of the monotonic clock, more exactly than the event loop does."""
    left_s = (instant_ns - time.monotonic_ns()) / 1e9
    if left_s > ROUNDED_S:
        await asyncio.sleep(left_s - ROUNDED_S)
    time.sleep(max(0.0, (instant_ns - time.monotonic_ns()) / 1e9))  # noqa: ASYNC251


async def send(descriptor: int, data: bytes) -> None:
    """Write all of it to a pipe, however slowly it is read; nothing if nobody reads it any more."""
    os.set_blocking(descriptor, False)
    with contextlib.suppress(BrokenPipeError):
        while data:
            try:
                data = data[os.write(descriptor, data) :]
            except BlockingIOError:
                await ready(descriptor, to_write=True)


class Lines:
    """The lines that come from a descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._received = bytearray()

    async def next(self, limit_s: float | None = None) -> bytes | None:
        """Return the next line without its end; None once there are no more.

        Raises:
            TimeoutError: none has come for `limit_s`.
        """
        deadline = None if limit_s is None else time.monotonic() + limit_s
        seen = 0  # a line may have millions of bytes
        while (end := self._received.find(b"\n", seen)) < 0:
            seen = len(self._received)
            left_s = None if deadline is None else deadline - time.monotonic()
            if not await ready(self._descriptor, left_s):
                raise TimeoutError
            try:
                chunk = os.read(self._descriptor, CHUNK_BYTES)
            except ConnectionError:
                return None
            if not chunk:
                return None
            self._received += chunk
        line = bytes(self._received[:end])
        del self._received[: end + 1]
        return line
