"""A periodic timer that notes how late it runs: what a busy loop does to other work on it."""

import asyncio
import time


class Timekeeper:
    """Fires every `period_s` on the running loop, from its creation until `stop`.

    Lateness counts from the due time, however late the previous firing was (no coordinated
    omission), by `time.monotonic`: a loop's own clock may stand still while it is busy. A timer
    that fires early (uvloop's have a resolution of 1 ms) counts as on time.
    """

    def __init__(self, period_s: float) -> None:
        self._period_s = period_s
        self._loop = asyncio.get_running_loop()
        self._due_s = time.monotonic()
        self._late_s: list[float] = []
        self._arm()

    def stop(self) -> dict[str, float]:
        """Stop; return `timer_late_mean_s` and `timer_late_max_s`.

        A firing that is due and has not happened counts with its lateness so far.
        """
        self._handle.cancel()
        waiting_s = time.monotonic() - self._due_s
        late_s = [*self._late_s, waiting_s] if waiting_s > 0 else self._late_s or [0.0]
        return {
            "timer_late_mean_s": sum(late_s) / len(late_s),
            "timer_late_max_s": max(late_s),
        }

    def _arm(self) -> None:
        self._due_s += self._period_s
        delay_s = self._due_s - time.monotonic()
        self._handle = self._loop.call_at(self._loop.time() + delay_s, self._fire)

    def _fire(self) -> None:
        self._late_s.append(max(0.0, time.monotonic() - self._due_s))
        self._arm()
