"""What sends requests to the servers of a run: the load generator, or the client of a check."""

from collections.abc import Mapping, Sequence
from typing import Any

from scaling.base.errors import ScalingError
from scaling.journal.record import Load


class LoadError(ScalingError):
    """The load could not be sent; the message is one line for the record."""


class Client:
    """What sends requests to the servers of one run, at the phases of its child.

    A kind of client that has nothing to do at a phase leaves it as it is here.
    """

    def start(self) -> None:
        """Start it.

        Raises:
            LoadError: it cannot be started.
        """

    def connect(self, urls: Sequence[str], requests: Sequence[Mapping[str, Any]]) -> None:
        """The workers answer at these URLs; the child waits until this returns.

        Raises:
            LoadError: a server was not reached.
        """
        raise NotImplementedError

    def begin(self, instants_ns: Sequence[int]) -> None:
        """The instants of the window, or of its next slice, have been fixed (monotonic ns)."""

    def resume(self) -> None:
        """Send again, before a slice of the window; its instants are fixed then.

        Raises:
            LoadError: it ended, or does not send.
        """

    def pause(self) -> float:
        """Wait until all that was sent in the slice is answered; nothing if there was none.

        Returns how long a request took in the last slice, s; 0 if that is not known.

        Raises:
            LoadError: it ended, or does not come to an end.
        """
        return 0.0

    def cpu_s(self) -> float:
        """CPU seconds that it has used so far; none where the driver sends."""
        return 0.0

    def result(self) -> Load:
        """The window is over: what it saw.

        Raises:
            LoadError: it has no result.
        """
        return Load()

    @property
    def secrets(self) -> set[str] | None:
        """What answers set as cookies, and what was saved of them, in each spelling; None where
        that is not known, or too much to look for.
        """
        return set()

    def kill(self) -> None:
        """End it at once; from any thread, harmless when it has ended."""

    def close(self) -> None:
        """End it and let go of what it holds."""
