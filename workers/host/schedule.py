"""The window: one schedule of instants for all workers, and the ticks taken at them."""

import time

from workers.worker.handle import Worker

try:
    from resource import RUSAGE_THREAD, getrusage

    def minor_faults() -> int | None:
        """Minor page faults of this thread so far: they tell which state malloc is in."""
        return getrusage(RUSAGE_THREAD).ru_minflt
except ImportError:  # not Linux: the figure stays blank

    def minor_faults() -> int | None:
        """Nothing to read on this system."""
        return None


def schedule(opens_ns: int, window_s: float, ticks: int) -> list[int]:
    """Instants (monotonic ns) of a window of `window_s` cut into `ticks` equal parts.

    `ticks + 1` instants: the first opens the window, the last closes it.
    """
    step_ns = window_s * 1e9 / ticks
    return [opens_ns + round(k * step_ns) for k in range(ticks + 1)]


class Ticks:
    """A worker's readings, a list a column; counters are cumulative since the worker began."""

    def __init__(self) -> None:
        self.columns: dict[str, list[int | None]] = {
            "instant_ns": [],
            "time_ns": [],
            "operations": [],
            "errors": [],
            "bytes": [],
            "cpu_ns": [],
            "minor_faults": [],
        }

    def take(self, instant_ns: int | None, worker: Worker) -> int:
        """Read the clock, the counters, and the CPU time of the calling thread.

        `instant_ns` is when this was due; None for whenever it happens to be. Returns the time
        read, monotonic ns.
        """
        time_ns = time.monotonic_ns()
        reading = (
            time_ns if instant_ns is None else instant_ns,
            time_ns,
            worker.operations,
            worker.errors,
            worker.bytes,
            time.thread_time_ns(),
            minor_faults(),
        )
        for column, value in zip(self.columns.values(), reading, strict=True):
            column.append(value)
        return time_ns
