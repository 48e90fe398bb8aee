"""The window: one schedule of instants for all workers, and the ticks taken at them."""

import asyncio
import time
from collections.abc import Callable

from workers.worker import Worker

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

    def take(self, instant_ns: int, worker: Worker) -> None:
        """Read the clock, the counters, and the CPU time of the calling thread."""
        reading = (
            instant_ns,
            time.monotonic_ns(),
            worker.operations,
            worker.errors,
            worker.bytes,
            time.thread_time_ns(),
            minor_faults(),
        )
        for column, value in zip(self.columns.values(), reading, strict=True):
            column.append(value)


async def take_ticks(instants_ns: list[int], tick: Callable[[int], None]) -> None:
    """Call `tick(instant)` on the running loop at each instant; return after the last.

    Each is scheduled relative to the loop's own clock, which need not be `time.monotonic`.
    """
    loop = asyncio.get_running_loop()
    over = loop.create_future()
    upcoming = iter(instants_ns)

    def arm(instant_ns: int) -> None:
        delay_s = instant_ns / 1e9 - time.monotonic()
        loop.call_at(loop.time() + delay_s, fire, instant_ns)

    def fire(instant_ns: int) -> None:
        tick(instant_ns)
        following = next(upcoming, None)
        if following is not None:
            arm(following)
        elif not over.done():
            over.set_result(None)

    arm(next(upcoming))
    await over
