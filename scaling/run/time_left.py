"""How long a study takes: what is left of it, extra time for runs that other load disturbed, and
when `--precision` lets it end.
"""

import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping
from statistics import fmean
from typing import NamedTuple

from scaling.analysis.statistics.estimate import Estimate
from scaling.base.formats import duration, percent, plural
from scaling.journal.record import Cell, RunLine
from scaling.machine.disturbance import MachineTimes, crowding, disturbance


class Left(NamedTuple):
    """Seconds that are still to come, and how many runs besides of which nothing is known."""

    seconds: float
    unknown: int = 0

    def __str__(self) -> str:
        """`3 min 20 s left`; `over 3 min 20 s left` where there is more than is known."""
        if not self.unknown:
            return f"{duration(self.seconds)} left"
        return f"over {duration(self.seconds)} left" if self.seconds else "time left not known yet"


class TimeLeft:
    """Keeps the account of the runs to come.

    A windowed run costs its warm-up and window, which are known, and an overhead, which is
    averaged over the runs measured; before the first it is the plan's estimate. A finite run costs
    what runs of its cell have cost on average; before the first, it is unknown.
    """

    def __init__(self, inside_s: Callable[[Cell], float | None], overhead_s: float) -> None:
        """`inside_s` are the seconds of warm-up and window of a cell; None where it is finite."""
        self._inside_s = inside_s
        self._estimate_s = overhead_s
        self._overheads_s: list[float] = []
        self._windowed: Counter[float] = Counter()  # runs to come, by their warm-up and window
        self._finite: Counter[Cell] = Counter()  # runs to come
        self._took_s: defaultdict[Cell, list[float]] = defaultdict(list)

    def expect(self, cell: Cell) -> None:
        """A run of this cell is to come."""
        self._count(cell, 1)

    def done(self, cell: Cell) -> None:
        """A run that was to come has been made."""
        self._count(cell, -1)

    def _count(self, cell: Cell, runs: int) -> None:
        inside_s = self._inside_s(cell)
        if inside_s is None:
            self._finite[_original(cell)] += runs
        else:
            self._windowed[inside_s] += runs

    def learn(self, line: RunLine) -> None:
        """Learn from what a run took."""
        if line.elapsed_s is None:
            return
        inside_s = self._inside_s(line.cell)
        if inside_s is None:
            self._took_s[_original(line.cell)].append(line.elapsed_s)
        else:
            self._overheads_s.append(line.elapsed_s - inside_s)

    @property
    def left(self) -> Left:
        """What all runs to come will take."""
        overhead_s = fmean(self._overheads_s) if self._overheads_s else self._estimate_s
        seconds = sum(runs * (each_s + overhead_s) for each_s, runs in self._windowed.items())
        unknown = 0
        for cell, runs in self._finite.items():
            if cell in self._took_s:
                seconds += runs * fmean(self._took_s[cell])
            else:
                unknown += runs
        return Left(seconds, unknown)


def _original(cell: Cell) -> Cell:
    """A hidden duplicate takes as long as the cell that it repeats."""
    return cell.but(twin=False)


# --------------------------------------------------------------------------------------- extra time
# Runs that other load disturbed are made again at once, within a bounded extra time.
#
# A run is chosen by what others took of the CPUs, never by its figure, and its first attempt stays
# in the journal, marked `suspect`. The second attempt is made when the machine is quiet, or after
# `MOST_WAIT_S`. The wait and the second attempt are taken from the extra time; when that is used
# up, runs stay as they are, suspect.

# Of the time that the study still takes when it begins or is resumed, and that added blocks take.
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


# ----------------------------------------------------------------------------------- precision rule
# The rule of `--precision`: after every block, are the headline ratios known well enough?
#
# It is fixed before the first run (the study line has it) and looks at nothing but widths.


class Standing(NamedTuple):
    """Whether a study has enough blocks, and what there is to say of it."""

    enough: bool
    text: str


type Rule = Callable[[Collection[RunLine], int], Standing]  # from the runs, and how many blocks
type Ratios = Callable[[Collection[RunLine]], Mapping[str, Estimate]]


def precision_rule(precision: float, max_blocks: int, ratios: Ratios) -> Rule:
    """The rule that asks for every one of `ratios` to be known to ± `precision` of itself.

    `max_blocks` are enough, whatever the widths; so is any number where there is no ratio at all.
    """
    known = f"± {percent(precision)}"

    def standing(runs: Collection[RunLine], blocks: int) -> Standing:
        widths = {name: ratio.relative_half_width for name, ratio in ratios(runs).items()}
        wide = [name for name, width in widths.items() if width > precision]
        done = plural(blocks, "block")
        if not widths:
            return Standing(True, f"{done}: no ratio whose precision could be asked for")
        if not wide:
            headlines = plural(len(widths), "headline ratio")
            return Standing(True, f"{done}: {headlines} known to {known}, as asked for")
        widest = max(wide, key=lambda name: widths[name])
        half = widths[widest]
        reached = "no interval yet" if math.isinf(half) else f"± {percent(half)}"
        several = f"{len(wide)} of {plural(len(widths), 'ratio')}"
        if blocks >= max_blocks:
            not_known = f"{several} not known to {known}. Widest, {reached}: {widest}"
            return Standing(True, f"{done}, as many as there may be: {not_known}")
        return Standing(
            False, f"{done}, one more: {several} not known to {known} (widest: {reached})"
        )

    return standing
