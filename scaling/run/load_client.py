"""What sends requests to the servers of a run: the load generator, or the client of a check."""

from typing import Any

from scaling.base.errors import ScalingError
from scaling.journal.record import Load
from scaling.run.probe import Phase


class LoadError(ScalingError):
    """The load could not be sent; the message is one line for the record."""


class Client:
    """What sends requests to the servers of one run, at the phases of its child.

    What it waits for is cancelled when the child ends; then it is killed and closed. `result` is
    what it saw, once the window is over.
    """

    result: Load | None = None

    def start(self) -> None:
        """Start it; where that fails, it says so when the workers answer."""

    async def at(self, phase: Phase) -> dict[str, Any]:
        """Do its part at a phase of the child, which waits, and return what to reply.

        Raises:
            LoadError: that failed.
        """
        raise NotImplementedError

    def cpu_s(self) -> float:
        """CPU seconds that it has used so far; none where the driver sends."""
        return 0.0

    @property
    def secrets(self) -> set[str] | None:
        """What answers set as cookies, and what was saved of them, in each spelling; None where
        that is not known, or too much to look for.
        """
        return set()

    def kill(self) -> None:
        """End it at once; harmless when it has ended."""

    def close(self) -> None:
        """End it and let go of what it holds."""
