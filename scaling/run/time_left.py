"""How long a study will still take, from what its runs have cost so far."""

from collections import Counter, defaultdict
from collections.abc import Callable
from statistics import fmean
from typing import NamedTuple

from scaling.base.formats import duration
from scaling.journal.record import Cell, RunLine

type Inside = Callable[[Cell], float | None]  # seconds of warm-up and window; None where finite


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

    def __init__(self, inside_s: Inside, overhead_s: float) -> None:
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
