"""A lane: sends one request after the other, on connections that it opens and keeps.

A lane without an open connection opens one for the request that it is given, so the time to
connect is part of that request's latency.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, cast

from workers.services.load.sequence import Answer
from workers.services.load.tally import Tally, Window
from workers.services.load.targets import Target


class Opening(NamedTuple):
    """The opening request of a WebSocket; `receives` is the number of messages of an answer."""

    authority: str
    path: str
    headers: tuple[tuple[str, str], ...] = ()
    receives: int = 1


class Message(NamedTuple):
    """A request as it is sent, and the answer that it must have."""

    data: bytes
    status: int | None  # None: 200 to 399
    is_head: bool
    declined: Sequence[int] = ()  # statuses that are no answer, and no error
    closes: bool = False  # whether the connection ends with the answer
    kept: bool = False  # whether the lane needs the answer
    place: str = ""  # the line in the file of requests, if it is in one
    opening: Opening | None = None  # of the WebSocket that it is for
    sends: Sequence[bytes] = ()  # its messages,
    texts: Sequence[bytes] = ()  # and what comes back, if that is asked


# Opens a connection for a lane, which it reports to by `opened`, `answered` and `lost`.
type Open = Callable[["Lane"], "asyncio.Future[None]"]


class Lane:
    """Sends requests one after the other and settles each in the tally.

    Beside its connection it has one for each WebSocket, which waits while others are in use.
    `first_ns` is when the first byte of the body came, `done_ns` when the last one came that
    belongs to the answer: 0 while that is the time at which the answer is complete. `heard_ns` is
    from when on it waits. `secrets` are the cookies that answers set.
    """

    __slots__ = (
        "_freed", "_keepalive", "_messages", "_open", "_opening", "_others", "_tally",
        "answer", "connection", "done_ns", "due_ns", "first_ns", "heard_ns", "message", "secrets",
        "sent_ns", "window",
    )  # fmt: skip

    def __init__(self, messages: Sequence[Message], open_one: Open, *, keepalive: bool) -> None:
        """`messages` are what can be sent; `open_one` opens a connection for this lane."""
        self._messages = messages
        self._open = open_one
        self._keepalive = keepalive
        self._others: dict[Opening | None, Reporting] = {}
        self._opening: asyncio.Future[None] | None = None
        self._tally: Tally | None = None
        self._freed: Callable[[Lane], None] | None = None
        self.connection: Reporting | None = None
        self.answer: Answer | None = None
        self.message = messages[0]  # the last one
        self.secrets: set[str] = set()
        self.due_ns = self.sent_ns = self.heard_ns = self.first_ns = self.done_ns = 0
        self.window: Window | None = None  # of the request in flight; None while idle

    async def connect(self) -> None:
        """Open the connection before there is a request."""
        await self._open(self)

    def attach(self, tally: Tally, freed: Callable[["Lane"], None]) -> None:
        """Settle requests in a tally; `freed` is called when the next one can be sent."""
        self._tally = tally
        self._freed = freed

    def send(self, position: int, due_ns: int, window: Window) -> None:
        """Send the request at a position in the list; the lane is idle."""
        message = self._messages[position]
        if message.opening != self.message.opening:
            self._take_other(message.opening)
        self.message = message
        self.due_ns = due_ns
        self.window = window
        self.first_ns = self.done_ns = 0
        self.sent_ns = self.heard_ns = time.monotonic_ns()
        if self.connection:
            self.connection.send(message)
        else:
            self._opening = self._open(self)

    def opened(self, connection: "Reporting") -> None:
        """A connection is open: send what waits for it."""
        self.connection = connection
        if self.window:
            connection.send(self.message)

    def _take_other(self, opening: Opening | None) -> None:
        """Go on with the connection of another WebSocket, or of HTTP."""
        if self.connection:
            self._others[self.message.opening] = self.connection
        other = self._others.pop(opening, None)
        self.connection = other if other and other.is_open else None

    def answered(self, error: str, *, reusable: bool, declined: bool = False) -> None:
        """The answer is complete; `error` is empty if it is the right one.

        `declined`: the server could not answer in time, and said so.
        """
        if self.connection and not (reusable and self._keepalive and not self.message.closes):
            self.connection.close()
            self.connection = None
        self._settle(error, declined=declined)

    def lost(self, kind: str) -> None:
        """The connection is gone; an error of this kind if a request was in flight."""
        self.connection = None
        if self.window:
            self._settle(kind)

    def give_up(self, kind: str) -> None:
        """End the request in flight with an error of this kind."""
        self._hang_up()
        self._settle(kind)

    @property
    def late_kind(self) -> str:
        """The kind of error of a request that has had no answer in time."""
        begun = self.first_ns and self.message.place
        return f"{self.message.place}: no end of the answer in time" if begun else "timeout"

    def finish(self) -> None:
        """Count the request in flight as censored, and close."""
        window, self.window = self.window, None
        if window and self._tally:
            self._tally.censor(window, self.due_ns, self.first_ns)
        self._hang_up()
        self.leave_websockets()

    def leave_websockets(self) -> None:
        """Close all WebSockets; the connection of HTTP stays."""
        if self.connection and self.message.opening:
            self.connection.abort()
            self.connection = None
        for opening in [each for each in self._others if each]:
            self._others.pop(opening).abort()

    def _hang_up(self) -> None:
        connection, self.connection = self.connection, None
        if connection:
            connection.abort()
        if self._opening:
            self._opening.cancel()

    def _settle(self, error: str, *, declined: bool = False) -> None:
        done_ns = self.done_ns or time.monotonic_ns()
        window, self.window = self.window, None
        if window and self._tally and self._freed:
            done = self.due_ns, self.sent_ns, done_ns
            first_ns = self.first_ns or done_ns
            self._tally.settle(window, *done, error, first_ns=first_ns, declined=declined)
            self._freed(self)


# --------------------------------------------------------------------------------------- connecting
# Opens connections for lanes, and says why one could not be opened.

BUFFER_BYTES = 65_536
BUFFER = memoryview(bytearray(BUFFER_BYTES))
"""All connections of a process read into this one: what is read is used up at once."""
PAUSE_S = 0.01  # after a refused connection, so that a closed loop does not spin
CONNECTS_AT_A_TIME = 100


class Reporting(asyncio.BufferedProtocol):
    """A connection that reports to its lane as long as it is the lane's."""

    def __init__(self, lane: Lane) -> None:
        self._lane = lane
        self._transport: asyncio.Transport | None = None
        self._begun = 0  # answers to what is in flight
        self.failed = ""  # the kind of error that ended it

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send requests at once from now on: uvloop would wait for the end of the loop's turn."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is no subclass of it
        self._transport.set_write_buffer_limits(high=0)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return the buffer to read into."""
        return BUFFER

    @property
    def came_bytes(self) -> int:
        """Bytes received of an answer that is kept."""
        return 0

    @property
    def is_open(self) -> bool:
        """True if the server has not closed it meanwhile."""
        return self._transport is not None and not self._transport.is_closing()

    def send(self, message: Message) -> None:
        """Send a request; nothing is in flight."""
        if self._transport:
            self._transport.write(message.data)

    def close(self) -> None:
        """Close after an answer."""
        if self._transport:
            self._transport.close()

    def abort(self) -> None:
        """Close at once."""
        if self._transport:
            self._transport.abort()

    def eof_received(self) -> None:
        """The server has closed its side; the loop then closes ours."""

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail the request in flight, which gets no answer any more."""
        if exc is not None:
            self.fail("reset")
        else:
            self.fail("short" if self._begun else "closed")

    def fail(self, kind: str) -> None:
        """The connection is unusable or gone."""
        self.failed = self.failed or kind
        if self._lane.connection is self:
            self._lane.lost(kind)
        self.abort()


type ConnectionMaker = Callable[[Lane], Reporting]


def opener(protocol: ConnectionMaker, target: Target) -> Open:
    """Make the function that opens a lane's connections to a server."""
    loop = asyncio.get_running_loop()

    async def connect(lane: Lane) -> None:
        try:
            transport, connection = await loop.create_connection(
                lambda: protocol(lane), target.address, target.port
            )
        except OSError:
            await asyncio.sleep(PAUSE_S)
            lane.lost("connect")
            return
        if transport.is_closing():
            lane.lost(connection.failed or "reset")
        else:
            lane.opened(connection)

    return lambda lane: asyncio.ensure_future(connect(lane))


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

    def send(self, message: Message) -> None:
        self._left = message.data
        self._begun = 0
        super().send(message)

    def buffer_updated(self, nbytes: int) -> None:
        came = BUFFER[:nbytes]
        if self._left[:nbytes] != came:  # also where more came than was sent
            self.fail("mismatch")
            return
        self._left = self._left[nbytes:]
        if not self._begun:
            self._begun = 1
            self._lane.first_ns = time.monotonic_ns()
        if not self._left and self._lane.connection is self:
            self._lane.answered("", reusable=True)
