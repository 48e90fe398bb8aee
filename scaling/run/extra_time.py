"""Runs that other load disturbed are made again at once, within a bounded extra time.

A run is chosen by what others took of the CPUs, never by its figure, and its first attempt stays in
the journal, marked `suspect`. The second attempt is made when the machine is quiet, or after
`MOST_WAIT_S`. The wait and the second attempt are taken from the extra time; when that is used up,
runs stay as they are, suspect.
"""

import time
from collections.abc import Callable

from scaling.journal.record import RunLine
from scaling.machine.disturbance import MachineTimes, crowding, disturbance

# Of the time that the study still takes when it begins or is resumed, and that added blocks take.
SHARE = 0.15
MOST_WAIT_S = 10.0  # before a second attempt; noise of a machine lasts for 10 to 30 s
SAMPLE_S = 0.5

type Busy = Callable[[RunLine], str | None]  # what others took of the machine; None where little
type Quiet = Callable[[int], bool]  # whether so many workers have a CPU each, now


def quiet_on(cpus: int | None) -> Quiet:
    """Whether other programs leave a CPU to each of so many workers, seen for half a second.

    `cpus` are the machine's CPUs, None if the study may not use them all.
    """

    def is_quiet(workers: int) -> bool:
        before = MachineTimes.now()
        time.sleep(SAMPLE_S)
        seen = disturbance(before, MachineTimes.now(), ours_cpu_s=0.0)
        return not crowding(seen, workers, cpus)

    return is_quiet


class ExtraTime:
    """The extra time of a study: seconds left, and how they are spent."""

    def __init__(
        self,
        busy: Busy,
        quiet: Quiet,
        clock: Callable[[], float] = time.monotonic,
        share: float = SHARE,
    ) -> None:
        self.busy = busy
        self.left_s = 0.0
        self._quiet = quiet
        self._clock = clock
        self._share = share

    def grant(self, study_s: float) -> None:
        """Allow a share of the time that planned or added runs will take, besides what is left."""
        self.left_s += self._share * study_s

    def allows(self, seconds: float) -> bool:
        """Take the time of a second attempt, if so much is left; whether it was."""
        if self.left_s <= seconds:
            return False
        self.left_s -= seconds
        return True

    def wait(self, workers: int) -> None:
        """Wait until the machine is quiet, for some seconds at most."""
        began = self._clock()
        until = began + min(MOST_WAIT_S, self.left_s)
        while not self._quiet(workers) and self._clock() < until:
            pass
        self.left_s -= self._clock() - began
