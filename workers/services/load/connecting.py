"""Opens connections for lanes, and says why one could not be opened."""

import asyncio
from collections.abc import Callable
from typing import cast

from workers.services.load.lane import Lane, Message
from workers.services.load.target import Target

BUFFER_BYTES = 65_536
BUFFER = memoryview(bytearray(BUFFER_BYTES))
"""All connections of a process read into this one: what is read is used up at once."""
PAUSE_S = 0.01  # after a refused connection, so that a closed loop does not spin


class Reporting(asyncio.BufferedProtocol):
    """A connection that reports to its lane as long as it is the lane's."""

    def __init__(self, lane: Lane) -> None:
        self._lane = lane
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Have requests sent at once: uvloop else waits for the end of the loop's turn."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is no subclass of it
        self._transport.set_write_buffer_limits(high=0)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where to read to."""
        return BUFFER

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

    def ended(self, kind: str) -> None:
        """The connection is unusable or gone."""
        if self._lane.connection is self:
            self._lane.lost(kind)


type ConnectionMaker = Callable[[Lane], Reporting]


def opener(protocol: ConnectionMaker, target: Target) -> Callable[[Lane], "asyncio.Future[None]"]:
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
            lane.lost("reset")
        else:
            lane.opened(connection)

    return lambda lane: asyncio.ensure_future(connect(lane))
