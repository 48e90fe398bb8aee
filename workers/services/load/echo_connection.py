"""Length-prefixed TCP: four bytes of length (big-endian), then as many bytes, and the same back."""

from workers.services.load.lane import BUFFER, Lane, Message, Reporting


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
