"""How a study in progress is shown: one live line on a terminal, one line a block elsewhere.

Nothing is drawn while a window is open: a display that refreshes itself would take turns on the
cores that are being measured.
"""

import math
from collections import Counter
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.table import Column

from scaling.analysis.table.latency import histograms_of, summary
from scaling.analysis.table.ticks import throughputs
from scaling.base.console import say
from scaling.base.formats import number, plural
from scaling.base.models import workers_in_words
from scaling.journal.record import Cell, RunLine, WorkloadFacts
from scaling.run.time_left import Left

# ------------------------------------------------------------------------------------------ wording
# What is printed of a run and of a block, in a line each.


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
    """Why a run has no figure."""
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

RUNS = "runs"


class Display(Protocol):
    """What the session reports while it works."""

    def begin(self, total: int, done: int, again: int = 0, what: str = RUNS) -> None:
        """Of `total` runs `done` are measured already; `again` of all are made once more.

        `what` they are called: `calibration runs` come before those of the study.
        """

    def more(self, runs: int, again: int = 0) -> None:
        """So many runs are added, `again` of them made once more; negative if they are left out."""

    def running(self, run: str, left: Left) -> None:
        """A run starts; `left` is how long the study will still take."""

    def finished(self, run: str, figure: str, left: Left) -> None:
        """A run has ended with this figure."""

    def invalid(self, reason: str, *, again: bool) -> None:
        """The run just finished is invalid; `again`: it will be run once more."""

    def busy(self, reason: str, *, again: bool) -> None:
        """Other load disturbed the run just finished; `again`: it is made again at once."""

    def block_done(self, block: int, text: str) -> None:
        """A block is complete, the first one is number 0; `text` says how far the study is."""

    def note(self, text: str) -> None:
        """Something that the user should know."""

    def end(self) -> None:
        """No more runs."""


def display(console: Console) -> Display:
    """The display that fits where the output goes."""
    return LiveLine(console) if console.is_terminal else PlainLines(console)


class PlainLines:
    """A line a block, for pipes, logs and CI; of many blocks the first and some of the others."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._total = self._done = self._again = 0
        self._what = RUNS
        self._run = ""
        self._issues: Counter[str] = Counter()
        self._first: dict[str, str] = {}

    def begin(self, total: int, done: int, again: int = 0, what: str = RUNS) -> None:
        """Note how many runs there are."""
        self._total, self._done, self._again, self._what = total, done, again, what
        self._run = ""

    def more(self, runs: int, again: int = 0) -> None:
        """Count them."""
        self._total += runs
        self._again += again

    def running(self, run: str, left: Left) -> None:
        """Nothing: the line comes when the block is done."""

    def finished(self, run: str, figure: str, left: Left) -> None:
        """Count it, and remember it for the line of the block."""
        self._done += 1
        self._run = f"{run}: {figure}"

    def invalid(self, reason: str, *, again: bool) -> None:
        """Count the reason for the line of the block, and one more run to come."""
        self.more(again, again)
        self._count(invalid_in_words(reason, again=again))

    def busy(self, reason: str, *, again: bool) -> None:
        """Count it for the line of the block, and one more run to come."""
        self.more(again, again)
        self._count(busy_in_words(reason, again=again))

    def block_done(self, block: int, text: str) -> None:
        """Print how far the study is."""
        if is_shown(block):
            self._print(f"{self._count_of_runs} {text}")
            self._print_issues()

    def note(self, text: str) -> None:
        """Print it."""
        self._print(text)

    def end(self) -> None:
        """Print how many runs were made, and the last one."""
        last = f", the last one {self._run}" if self._run else ""
        self._print(f"{self._count_of_runs} {self._what} measured{last}")
        self._print_issues()

    @property
    def _count_of_runs(self) -> str:
        return f"[{self._done}/{self._total}{again_in_words(self._again)}]"

    def _count(self, issue: str) -> None:
        """One more of its kind; what stands in brackets differs between runs of one kind."""
        kind = issue.partition(" (")[0]
        self._issues[kind] += 1
        self._first.setdefault(kind, issue)

    def _print_issues(self) -> None:
        """The most frequent issue since the last line, and how many runs had others."""
        if self._issues:
            ((kind, count),) = self._issues.most_common(1)
            others = self._issues.total() - count
            more = f"; {plural(others, 'run')} with other issues" if others else ""
            self._print(f"  {plural(count, 'run')} {self._first[kind]}{more}")
        self._issues.clear()
        self._first.clear()

    def _print(self, text: str) -> None:
        say(self._console, text)


def is_shown(block: int) -> bool:
    """Whether a block, the first one number 0, has a line: each up to 8, then 16, 32, and so on."""
    return block < 8 or (block + 1).bit_count() == 1


ONE_LINE = Column(no_wrap=True, overflow="ellipsis", ratio=1)


class LiveLine:
    """One line that changes between runs: bar, run, last figure, time left."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._figure = ""
        self._total = self._again = 0
        self._progress = Progress(
            BarColumn(bar_width=10, table_column=Column(min_width=10)),
            TextColumn(
                "{task.fields[before]}{task.completed}/{task.total}{task.fields[again]}",
                table_column=Column(min_width=7, no_wrap=True),
            ),
            TextColumn("{task.description}", table_column=ONE_LINE, markup=False),
            console=console,
            auto_refresh=False,  # a refreshing thread would run inside the windows
            transient=True,
        )
        self._task: TaskID | None = None

    def begin(self, total: int, done: int, again: int = 0, what: str = RUNS) -> None:
        """Draw the bar, in place of an earlier one."""
        if self._task is not None:
            self._progress.remove_task(self._task)
        self._total, self._again, self._figure = total, again, ""
        before = "" if what == RUNS else f"{what} "
        self._task = self._progress.add_task(
            "", total=total, completed=done, before=before, again=again_in_words(again)
        )
        self._progress.start()

    def more(self, runs: int, again: int = 0) -> None:
        """Make the bar longer."""
        self._total += runs
        self._again += again
        if self._task is not None:
            text = again_in_words(self._again)
            self._progress.update(self._task, total=self._total, again=text)

    def running(self, run: str, left: Left) -> None:
        """Show what runs now beside the last figure."""
        self._show(f"{left} · {run}{self._figure}")

    def finished(self, run: str, figure: str, left: Left) -> None:
        """Go one step on."""
        self._figure = f" · last: {figure}"
        if self._task is not None:
            self._progress.advance(self._task)
        self._show(f"{left} · {run}: {figure}")

    def invalid(self, reason: str, *, again: bool) -> None:
        """Show the reason as the last figure; the bar gets longer by a run to come."""
        self._figure = f" · last: {invalid_in_words(reason, again=again)}"
        self.more(again, again)
        self._progress.refresh()

    def busy(self, reason: str, *, again: bool) -> None:
        """Show it in the place of the run, while the machine is waited for."""
        self.more(again, again)
        self._show(busy_in_words(reason, again=again))

    def block_done(self, block: int, text: str) -> None:
        """Nothing: the line has the time left."""

    def note(self, text: str) -> None:
        """Print it above the line."""
        say(self._progress.console, text)

    def end(self) -> None:
        """Take the line away."""
        self._progress.stop()

    def _show(self, text: str) -> None:
        if self._task is not None:
            self._progress.update(self._task, description=text)
        self._progress.refresh()


def again_in_words(runs: int) -> str:
    """`, 2 of them again`: what a count of runs has in it besides those of the plan."""
    return f", {runs:,} of them again" if runs else ""


def invalid_in_words(reason: str, *, again: bool) -> str:
    """`invalid, to be run again at the end: throttled`; or that it is excluded."""
    outcome = "invalid, to be run again at the end" if again else "still invalid, excluded"
    return f"{outcome}: {reason}"


def busy_in_words(reason: str, *, again: bool) -> str:
    """`machine busy (other processes took 1.2 of 2 CPUs): run again when it is quiet`."""
    then = "run again when it is quiet" if again else "kept, marked suspect"
    return f"machine busy ({reason}): {then}"
