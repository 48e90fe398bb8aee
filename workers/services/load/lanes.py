"""The lanes of one process, connected before anything is sent."""

import asyncio
import contextlib
import os

from workers.services.load.lane import BUFFER, ConnectionMaker, Lane, Message, Reporting, opener
from workers.services.load.part import Part, messages
from workers.services.load.requests_list import Target

CONNECTS_AT_A_TIME = 100


async def connected(part: Part) -> list[Lane]:
    """Make the lanes, dealt evenly over the servers, and connect them unless each request does.

    Raises:
        ConnectionError: a server cannot be reached; the message says which and why.
    """
    protocol: ConnectionMaker = EchoConnection if part.targets[0].scheme == "tcp" else http()
    kinds = [(messages(part, each), opener(protocol, each)) for each in part.targets]
    for target in part.targets:
        await probe(target, part.timeout_s)
    lanes = [
        Lane(*kinds[(part.place + number * part.of) % len(kinds)], keepalive=part.keepalive)
        for number in range(part.connections)
    ]
    if part.keepalive:
        for first in range(0, len(lanes), CONNECTS_AT_A_TIME):
            some = lanes[first : first + CONNECTS_AT_A_TIME]
            opening = [asyncio.ensure_future(lane.connect()) for lane in some]
            await asyncio.wait(opening, timeout=part.timeout_s)
            missing = sum(lane.connection is None for lane in some)
            if missing:
                raise ConnectionError(
                    f"{missing} of {len(lanes)} connections were refused or not accepted within "
                    f"{part.timeout_s:g} s"
                )
    return lanes


def http() -> ConnectionMaker:
    """The protocol that needs a package besides the standard library."""
    from workers.services.load.http_connection import HttpConnection

    return HttpConnection


async def probe(target: Target, timeout_s: float) -> None:
    """Open a connection and close it.

    Raises:
        ConnectionError: it cannot be opened; the message is one line for the user.
    """
    try:
        async with asyncio.timeout(timeout_s):
            _, writer = await asyncio.open_connection(target.address, target.port)
    except TimeoutError:
        raise ConnectionError(f"{target.authority}: no connection within {timeout_s:g} s") from None
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise ConnectionError(f"no server answers at {target.authority}: {reason}") from None
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


# --------------------------------------------------------------------------------------------- echo
# The connection of TCP with lengths: four bytes of length (big-endian), then as many bytes, and the
# same back. That of HTTP, which needs a package, has a file of its own.


class EchoConnection(Reporting):
    """Sends one message at a time and compares what comes back."""

    def __init__(self, lane: Lane) -> None:
        super().__init__(lane)
        self._left = b""  # of the answer that is to come
        self._begun = False

    def send(self, message: Message) -> None:
        """Send a message; nothing is in flight."""
        self._left = message.data
        self._begun = False
        super().send(message)

    def buffer_updated(self, nbytes: int) -> None:
        """Compare what has come with what was sent."""
        came = BUFFER[:nbytes]
        if self._left[:nbytes] != came:  # also where more came than was sent
            self._fail("mismatch")
            return
        self._left = self._left[nbytes:]
        self._begun = True
        if not self._left and self._lane.connection is self:
            self._lane.answered("", reusable=True)

    def connection_lost(self, exc: Exception | None) -> None:
        """What is in flight will not be answered."""
        if exc is not None:
            self._fail("reset")
        else:
            self._fail("short" if self._begun else "closed")

    def _fail(self, kind: str) -> None:
        self.ended(kind)
        self.abort()
