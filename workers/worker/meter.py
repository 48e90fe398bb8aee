"""A worker's meter: ticks at instants, its interpreter read back at the first and the last."""

from workers.host.schedule import Ticks
from workers.readback.process import Readback
from workers.worker.handle import Worker


class Meter:
    """Reads one worker. `readback` is None where the host reads back for all (threads)."""

    def __init__(self, worker: Worker, readback: Readback | None) -> None:
        self._worker = worker
        self._readback = readback
        self._ticks = Ticks()

    @property
    def columns(self) -> dict[str, list[int | None]]:
        """All ticks so far, a list a column."""
        return self._ticks.columns

    def open(self, instant_ns: int) -> int:
        """Take the first tick; return when it was taken, monotonic ns."""
        if self._readback:
            self._readback.opened()
        return self.tick(instant_ns)

    def tick(self, instant_ns: int | None) -> int:
        """Take a tick that was due at an instant (None: now); return when it was taken."""
        return self._ticks.take(instant_ns, self._worker)

    def close(self, instant_ns: int | None) -> int:
        """Take the last tick; return when it was taken."""
        taken_ns = self.tick(instant_ns)
        if self._readback:
            self._readback.closed()
        return taken_ns
