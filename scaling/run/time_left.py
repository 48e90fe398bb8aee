"""The time left of a study, and the extra time for runs that other load disturbed."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from functools import cache
from statistics import fmean
from typing import NamedTuple

from scaling.base.formats import duration
from scaling.journal.record import Cell, RunLine
from scaling.machine.disturbance import MachineTimes, crowding, disturbance


class Left(NamedTuple):
    """Remaining seconds, and the number of runs of unknown duration besides."""

    seconds: float
    unknown: int = 0

    def __str__(self) -> str:
        """`3 min 20 s left`; `over 3 min 20 s left` where there is more than is known."""
        if not self.unknown:
            return f"{duration(self.seconds)} left"
        return f"over {duration(self.seconds)} left" if self.seconds else "time left not known yet"


class TimeLeft:
    """The duration of runs to come, by the plan and by the runs that were measured.

    A windowed run takes what the plan expects, corrected by how much longer the runs measured so
    far took on average. A finite run takes what runs of its cell took on average; before the first,
    its duration is unknown.
    """

    def __init__(self, expected_s: Callable[[Cell], float | None]) -> None:
        """`expected_s` are the seconds that the plan expects of a run; None where it is finite."""
        self._expected_s = cache(expected_s)
        self._longer_s: list[float] = []
        self._took_s: defaultdict[Cell, list[float]] = defaultdict(list)

    def learn(self, line: RunLine) -> None:
        """Learn from what a run took."""
        if line.elapsed_s is None:
            return
        cell = line.cell
        expected_s = self._expected_s(cell)
        if expected_s is None:
            self._took_s[cell].append(line.elapsed_s)
        else:
            self._longer_s.append(line.elapsed_s - expected_s)

    def left(self, to_come: Iterable[Cell]) -> Left:
        """The time that runs of these cells will take."""
        longer_s = fmean(self._longer_s) if self._longer_s else 0.0
        seconds, unknown = 0.0, 0
        for cell, runs in Counter(to_come).items():
            expected_s = self._expected_s(cell)
            if expected_s is not None:
                seconds += runs * (expected_s + longer_s)
            elif cell in self._took_s:
                seconds += runs * fmean(self._took_s[cell])
            else:
                unknown += runs
        return Left(seconds, unknown)


# --------------------------------------------------------------------------------------- extra time
# Runs that other load disturbed are made again at once, within a bounded extra time.
#
# A run is chosen by what others took of the CPUs, never by its figure, and its first attempt stays
# in the journal, marked `suspect`. The second attempt is made when the machine is quiet, or after
# `MOST_WAIT_S`. The wait and the second attempt are taken from the extra time; when that is used
# up, runs stay as they are, suspect.

# Of the time that the study still takes when it begins or is resumed.
SHARE = 0.15
MOST_WAIT_S = 10.0  # before a second attempt; noise of a machine lasts for 10 to 30 s
SAMPLE_S = 0.5


def quiet_on(cpus: int | None) -> Callable[[int], bool]:
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
        busy: Callable[[RunLine], str | None],
        quiet: Callable[[int], bool],
        clock: Callable[[], float] = time.monotonic,
        share: float = SHARE,
    ) -> None:
        """`busy` says what others took of the machine in a run, None where that was little; `quiet`
        whether so many workers have a CPU each, now.
        """
        self.busy = busy
        self.left_s = 0.0
        self._quiet = quiet
        self._clock = clock
        self._share = share

    def grant(self, study_s: float) -> None:
        """Allow a share of the time that the study still takes."""
        self.left_s = self._share * study_s

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
