"""The display of a study in progress: one live line on a terminal, one line a block elsewhere.

Nothing is drawn while a window is open: a display that refreshes itself would take turns on the
cores that are being measured.
"""

import math
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple, override

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Column

from scaling.analysis.table.latency import histograms_of, summary
from scaling.analysis.table.ticks import throughputs
from scaling.base.console import say
from scaling.base.formats import number, plural
from scaling.base.models import workers_in_words
from scaling.journal.record import Cell, RunLine, WorkloadFacts
from scaling.run.time_left import Left

# ------------------------------------------------------------------------------------------ wording
# The printed lines of a run and of a block.


def run_in_words(cell: Cell) -> str:
    """Name a cell: `echo · uvloop · 3.14t · 2 threads · weak`."""
    parts = [cell.workload, cell.loop, cell.arm, workers_in_words(cell.model, cell.workers)]
    return " · ".join([*parts, *([cell.sizing] if cell.sizing != "weak" else [])])


def figure_of(line: RunLine, workload: WorkloadFacts) -> str:
    """A run's throughput with its unit, in an open loop its latency; or why there is none."""
    if line.outcome == "measured":
        latency = _at_rate(line, workload.sent)
        if latency is not None:
            return latency
        throughput = float(throughputs([line.record])[0])
        return f"{number(throughput)} {workload.operation}/s"
    return failure_of(line)


def failure_of(line: RunLine) -> str:
    """The reason that a run has no figure."""
    return f"{line.outcome}: {_cause(line)}"


def _at_rate(line: RunLine, sent: str) -> str | None:
    """`P99 3.2 ms at 1,000 requests/s`, P50 if there were few; None if not in an open loop."""
    if line.load is None or line.load.rate_per_s is None:
        return None
    found = summary(histograms_of(line))
    for words, name in (("P99", "latency_p99_s"), ("P50", "latency_p50_s")):
        if name in found:
            rate = number(line.load.rate_per_s)
            return f"{words} {number(1e3 * found[name])} ms at {rate} {sent}/s"
    return None


def _cause(line: RunLine) -> str:
    if line.record is not None and line.record.failure is not None:
        failure = line.record.failure
        return f"{failure.error} (in {failure.phase})"
    if line.outcome == "timed-out":
        return f"not over after {number(line.elapsed_s or math.nan)} s"
    if line.signal is not None:
        return f"ended by signal {line.signal}"
    last = line.stderr.strip().rpartition("\n")[2]
    return last or f"exit code {line.exit_code}"


# ----------------------------------------------------------------------------------------- progress


class Counts(NamedTuple):
    """Numbers of a study's runs: those done, and all; `again` of all are made once more."""

    done: int = 0
    total: int = 0
    again: int = 0

    def __str__(self) -> str:
        """`12/40, 2 of them again`: 2 runs are made again, besides the 38 of the plan."""
        return f"{self.done}/{self.total}{f', {self.again:,} of them again' if self.again else ''}"


class Display:
    """The reports of a session while it works; kinds of displays show some of them."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._counts: Callable[[], Counts] = Counts

    def begin(self, counts: Callable[[], Counts]) -> None:
        """Runs are measured; `counts` are their numbers at any time."""
        self._counts = counts

    def running(self, run: str, left: Left) -> None:
        """A run starts; `left` is how long the study will still take."""

    def finished(self, run: str, figure: str, left: Left) -> None:
        """A run has ended with this figure."""

    def invalid(self, reason: str, *, again: bool) -> None:
        """The run just finished is invalid; `again`: it will be run once more."""
        outcome = "invalid, to be run again at the end" if again else "still invalid, excluded"
        self.issue(f"{outcome}: {reason}")

    def busy(self, reason: str, *, again: bool) -> None:
        """Other load disturbed the run just finished; `again`: it is made again at once."""
        then = "run again when it is quiet" if again else "kept, marked suspect"
        self.issue(f"machine busy ({reason}): {then}", now=True)

    def issue(self, text: str, *, now: bool = False) -> None:
        """A problem of the run just finished; `now`: the next one waits for that."""

    def block_done(self, block: int, text: str) -> None:
        """A block is complete, the first one is number 0; `text` says how far the study is."""

    def note(self, text: str) -> None:
        """Something that the user should know."""
        say(self._console, text)

    def end(self) -> None:
        """No more runs."""


def display(console: Console) -> Display:
    """The display that fits where the output goes."""
    return LiveLine(console) if console.is_terminal else PlainLines(console)


class PlainLines(Display):
    """A line a block, for pipes, logs and CI; of many blocks the first and some of the others."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._last = ""
        self._issues: Counter[str] = Counter()
        self._first: dict[str, str] = {}

    @override
    def finished(self, run: str, figure: str, left: Left) -> None:
        self._last = f", the last one {run}: {figure}"

    @override
    def issue(self, text: str, *, now: bool = False) -> None:
        kind = text.partition(" (")[0]  # what stands in brackets differs between runs of one kind
        self._issues[kind] += 1
        self._first.setdefault(kind, text)

    @override
    def block_done(self, block: int, text: str) -> None:
        if block < 8 or (block + 1).bit_count() == 1:  # then 16, 32, and so on
            self.note(f"[{self._counts()}] {text}")
            self._print_issues()

    @override
    def end(self) -> None:
        self.note(f"[{self._counts()}] runs measured{self._last}")
        self._print_issues()

    def _print_issues(self) -> None:
        """The most frequent issue since the last line, and how many runs had others."""
        if self._issues:
            ((kind, count),) = self._issues.most_common(1)
            others = self._issues.total() - count
            more = f"; {plural(others, 'run')} with other issues" if others else ""
            self.note(f"  {plural(count, 'run')} {self._first[kind]}{more}")
        self._issues.clear()
        self._first.clear()


class LiveLine(Display):
    """One line that changes between runs: bar, run, last figure, time left."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._last = ""
        one_line = Column(no_wrap=True, overflow="ellipsis", ratio=1)
        self._progress = Progress(
            BarColumn(bar_width=10, table_column=Column(min_width=10)),
            TextColumn("{task.fields[counts]}", table_column=Column(min_width=7, no_wrap=True)),
            TextColumn("{task.description}", table_column=one_line, markup=False),
            console=console,
            auto_refresh=False,  # a refreshing thread would run inside the windows
            transient=True,
        )
        self._task = self._progress.add_task("", visible=False, counts="")

    @override
    def begin(self, counts: Callable[[], Counts]) -> None:
        super().begin(counts)
        self._progress.update(self._task, visible=True)
        self._progress.start()
        self._show("")

    @override
    def running(self, run: str, left: Left) -> None:
        self._show(f"{left} · {run}{self._last}")

    @override
    def finished(self, run: str, figure: str, left: Left) -> None:
        self._last = f" · last: {figure}"
        self._show(f"{left} · {run}: {figure}")

    @override
    def issue(self, text: str, *, now: bool = False) -> None:
        if now:
            self._show(text)
        else:  # in place of the figure, when the next run starts
            self._last = f" · last: {text}"
            self._show()

    @override
    def end(self) -> None:
        self._progress.stop()

    def _show(self, text: str | None = None) -> None:
        """Draw the line, with another text if there is one."""
        counts = self._counts()
        self._progress.update(
            self._task,
            description=text,
            total=counts.total,
            completed=counts.done,
            counts=str(counts),
        )
        self._progress.refresh()
