"""Who watches from outside: told each phase, and waited for.

Memory is read by the driver, never in here. At the phases where a reading belongs (imports done,
window closed with all workers still busy) the child says so and goes on at the driver's nod.
"""

import socket

from workers.host.channel import Channel


class Observer:
    """The driver's side channel; without a descriptor nobody is told and nothing is waited for."""

    def __init__(self, descriptor: int | None) -> None:
        self.descriptor = descriptor
        self._line = None if descriptor is None else Channel(socket.socket(fileno=descriptor))

    def phase(self, name: str, pids: list[int]) -> None:
        """Announce a phase with the processes that make up the run; return at the nod.

        Raises:
            LineClosedError: the driver is gone.
        """
        if self._line is not None:
            self._line.send({"phase": name, "pids": pids})
            self._line.receive()

    def close(self) -> None:
        """Hang up: the run is over."""
        if self._line is not None:
            self._line.close()
