"""The driver's view of a run: it is notified of each phase, and the child waits for its reply.

The driver reads memory, never the child. At the phases where a reading belongs (imports done,
window closed with all workers still busy) the child notifies the driver and waits until it has
read.
"""

import socket
from typing import Any

from workers.host.channel import Channel, Message


class DriverError(RuntimeError):
    """The driver could not do its part of a run."""


class Observer:
    """The channel to the driver; without a descriptor, phases pass without notice or wait."""

    def __init__(self, descriptor: int | None) -> None:
        self.descriptor = descriptor
        self._channel = None if descriptor is None else Channel(socket.socket(fileno=descriptor))

    def phase(self, name: str, pids: list[int], **facts: Any) -> Message:
        """Announce a phase, the process ids of the run and what else the driver needs to know.

        Returns what the driver has replied: usually nothing but that.

        Raises:
            ChannelClosedError: the driver is gone.
            DriverError: the driver could not do its part; the message says why.
        """
        if self._channel is None:
            return {}
        self._channel.send({"phase": name, "pids": pids, **facts})
        reply = self._channel.receive()
        if "failed" in reply:
            raise DriverError(reply["failed"])
        return reply

    def close(self) -> None:
        """Close the channel: the run is over."""
        if self._channel is not None:
            self._channel.close()
