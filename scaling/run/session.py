"""Does the runs of a plan, in the plan's order, and writes each down the moment it is measured.

A run that is written down is kept nowhere else: memory does not grow with the runs of a study.

An invalid run stays in the journal and is made once more when all others are done. One that other
load disturbed is made once more at once (`scaling.run.time_left`). A workload whose every run has
failed in two blocks is given up.

Rates that are shares of a peak are not known when a study begins. The runs of the first block that
need none are done first, and those of the calibrations between them. A study that is interrupted
before its rates are known calibrates again: after the last of those runs, all in a row.
"""

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Self

from scaling.analysis.extent import MEASURED
from scaling.base.errors import INTERRUPTED, ScalingError
from scaling.base.formats import plural
from scaling.journal.file import JournalFile
from scaling.journal.record import DamagedRun, Key, RunLine
from scaling.run.progress import Counts, Display, figure_of, run_in_words
from scaling.run.time_left import ExtraTime, Left, TimeLeft
from scaling.study.load import is_known
from scaling.study.plan.cells import Plan
from scaling.study.plan.order import PlannedRun
from scaling.study.presets import FAILING_BLOCKS

# A cause by chance (a throttled moment, a suspended machine) is gone by the end of the study: one
# attempt more is enough. A lasting cause (an import that turns the GIL on) makes each of them
# invalid, and costs the study its time. An attempt that was damaged on disk does not count.
RETRIES = 1

type Done = tuple[RunLine, bytes | None]  # a run's line, and the record as its child printed it
type Batch = tuple[PlannedRun, ...]  # runs that are made together: a group's, or one
type Execute = Callable[[Batch], Sequence[Done]]
type Judge = Callable[[RunLine], str | None]  # why a run is invalid; None where it is not
type Step = tuple[str, Callable[[], None], float]  # done between runs: words, function, seconds


class InterruptedStudyError(ScalingError):
    """The user stopped a study; everything measured so far is kept."""

    exit_code = INTERRUPTED


class Replay:
    """The runs of a study in a journal: the attempts at each, and which are to be made again."""

    def __init__(self) -> None:
        self._attempts: Counter[Key] = Counter()
        self._undamaged: Counter[Key] = Counter()
        self._is_invalid: dict[Key, bool] = {}  # the latest attempt
        self.made_again = 0
        self._runs: Counter[str] = Counter()  # by workload
        self._failed: Counter[str] = Counter()

    @classmethod
    def of(cls, measured: Iterable[RunLine], judge: Judge) -> Self:
        """The replay of a journal with these runs."""
        replay = cls()
        for line in measured:
            replay.add(line, judge(line))
        return replay

    def add(self, line: RunLine, reason: str | None) -> None:
        """The journal's next run, and why it is invalid."""
        key = line.key
        self._attempts[key] += 1
        self._undamaged[key] += not isinstance(line, DamagedRun)
        self._is_invalid[key] = reason is not None
        self.made_again += line.attempt > 1
        self._runs[line.cell.workload] += 1
        self._failed[line.cell.workload] += reason is not None and line.outcome != MEASURED

    def gives_up(self, batch: Batch) -> bool:
        """Return True if a batch is given up: every run of its workload has failed so far, in two
        blocks, or of a shorter study twice.
        """
        workload, block = batch[0].cell.workload, batch[0].block
        failed = self._failed[workload]
        is_late = block >= FAILING_BLOCKS or all(run.attempt > 1 for run in batch)
        return is_late and failed > 1 and failed == self._runs[workload]

    def remaining(self, together: Iterable[Sequence[PlannedRun]]) -> list[Batch]:
        """The runs that are to be made yet: those `missing`, without those given up."""
        return [each for each in self.missing(together) if not self.gives_up(each)]

    def missing(self, together: Iterable[Sequence[PlannedRun]]) -> list[Batch]:
        """The runs that the journal does not hold yet, in the order in which they are to be done.

        First what was never measured, in the order of the runs; then what was, with an invalid
        latest attempt, as long as it has not been tried again `RETRIES` times. Runs of a group are
        made together or not at all.
        """
        first, again = [], []
        for runs in together:
            keys = [run.key for run in runs]
            batch = tuple(
                run.at(self._attempts[key] + 1) for run, key in zip(runs, keys, strict=True)
            )
            if not all(key in self._is_invalid for key in keys):
                first.append(batch)
            elif any(self._is_invalid[key] and self._undamaged[key] <= RETRIES for key in keys):
                again.append(batch)
        return first + again


def is_complete(plan: Plan, measured: Collection[RunLine], judge: Judge) -> bool:
    """Return True if a journal holds all runs of a plan."""
    return not Replay.of(measured, judge).remaining(plan.together(plan.runs))


def drive(
    plan: Plan,
    journal: JournalFile,
    execute: Execute,
    judge: Judge,
    display: Display,
    extra: ExtraTime | None = None,
    steps: Sequence[Step] = (),
    rated: Callable[[], tuple[Plan, Execute]] | None = None,
) -> None:
    """Do what remains of the plan.

    With `extra` time, runs that other load disturbed are made again at once. The `steps` are done
    between the first runs whose rates are known; after them the plan is what `rated` returns.

    Raises:
        InterruptedStudyError: the user stopped it; the run under way is not in the journal.
    """
    work = _Work(plan, journal, execute, judge, display, extra, deque(steps))
    for line in journal.runs:  # each is read from the journal and judged once
        work.learn(line, judge(line))
    # Of a workload that is given up now, a run that is left may yet succeed.
    work.to_do.extend(work.replay.missing(plan.together(plan.runs)))
    display.begin(work.counts)
    if extra is not None:
        extra.grant(work.left.seconds)
    try:
        if steps and rated:
            work.do_first()
            work.go_on_with(*rated())
        work.do_all()
    except KeyboardInterrupt:
        measured = len(journal.runs)
        raise InterruptedStudyError(
            f"interrupted: {journal.path} has {measured} of {measured + work.runs_to_do} runs. "
            f"The same command goes on from there"
        ) from None
    finally:
        display.end()


@dataclass
class _Work:
    """The runs that are to be done, batch after batch, with the account of their time."""

    plan: Plan
    journal: JournalFile
    execute: Execute
    judge: Judge
    display: Display
    extra: ExtraTime | None
    steps: deque[Step]
    to_do: deque[Batch] = field(default_factory=deque)
    replay: Replay = field(default_factory=Replay)
    _was_busy: bool = False
    _valid_though_busy: set[Key] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._time = TimeLeft(self.plan.expected_s)

    @property
    def runs_to_do(self) -> int:
        """The number of runs to do."""
        return sum(map(len, self.to_do))

    def counts(self) -> Counts:
        """The numbers of the runs that are done, and of all."""
        done = len(self.journal.runs)
        again = sum(run.attempt > 1 for batch in self.to_do for run in batch)
        return Counts(done, done + self.runs_to_do, self.replay.made_again + again)

    @property
    def left(self) -> Left:
        """The time that runs and steps to do will take."""
        runs = self._time.left(run.cell for run in chain.from_iterable(self.to_do))
        return Left(runs.seconds + sum(each_s for *_, each_s in self.steps), runs.unknown)

    def learn(self, line: RunLine, reason: str | None) -> None:
        """Learn from a measured run what it took; `reason` is why it is invalid."""
        self.replay.add(line, reason)
        self._time.learn(line)

    def do_all(self) -> None:
        """Do all runs, and those again that have to be."""
        while self.to_do:
            batch = self.to_do[0]
            if self.replay.gives_up(batch):
                self._give_up(batch[0].cell.workload)
                continue
            self._do(batch)
            block = batch[0].block
            if self._another_comes_after(block):
                self._show_block(block)

    def do_first(self) -> None:
        """Do the steps, and the runs of the first block whose rates are known between them.

        Without such runs, as in a study that was interrupted after them, they are done in a row.
        """
        steps, every = len(self.steps), len(self._first)
        while (first := self._first) or self.steps:
            # None of the steps is done too late.
            if self.steps and len(self.steps) * every >= len(first) * steps:
                words, do, _ = self.steps[0]
                self.display.running(words, self.left)
                do()
                self.steps.popleft()
            else:
                self.to_do.remove(first[0])
                self.to_do.appendleft(first[0])
                self._do(first[0])

    @property
    def _first(self) -> list[Batch]:
        """Runs of the first block whose rates are known, and those made again at once: they stand
        at the head. Others that are made again, or are given up, are left to `do_all`.
        """
        known = [b for b in self.to_do if not b[0].block and all(is_known(r.cell) for r in b)]
        now = [b for b in known if b[0].attempt == 1 or b is self.to_do[0]]
        return [batch for batch in now if not self.replay.gives_up(batch)]

    def go_on_with(self, plan: Plan, execute: Execute) -> None:
        """Do what is missing of this plan, whose rates are known."""
        self.plan, self.execute = plan, execute
        self.to_do = deque(self.replay.missing(plan.together(plan.runs)))

    def _give_up(self, workload: str) -> None:
        """Leave out what is still to do of a workload that always fails."""
        every, self.to_do = self.to_do, deque()
        for batch in every:
            if not (batch[0].cell.workload == workload and self.replay.gives_up(batch)):
                self.to_do.append(batch)
        dropped = sum(map(len, every)) - self.runs_to_do
        runs = plural(dropped, "more run")
        self.display.note(f"{workload}: every run failed; {runs} of it will not be made")

    def _do(self, batch: Batch) -> None:
        words = [run_in_words(run.cell) for run in batch]
        more = f" in turn with {len(batch) - 1} more" if len(batch) > 1 else ""
        self.display.running(f"{words[0]}{more}", self.left)
        done = self.execute(batch)
        for line, record in done:
            self.journal.append(line, record)
        self.to_do.popleft()
        reasons = []
        for run, (line, _), word in zip(batch, done, words, strict=True):
            reasons.append(self.judge(line))
            self.learn(line, reasons[-1])
            figure = figure_of(line, self.plan.workloads[run.cell.workload])
            self.display.finished(word, figure, self.left)
        lines = [line for line, _ in done]
        if not self._made_again_at_once(batch, lines, reasons) and any(reasons):
            self._make_again_at_the_end(batch, reasons)

    def _make_again_at_the_end(self, batch: Batch, reasons: Sequence[str | None]) -> None:
        """Have runs made again when all others are done, if it was the first attempt.

        One of them is invalid, or several are; a group is made again as a whole.
        """
        again = _may_be_made_again(batch)
        if again:
            self.to_do.append(_again(batch))
        for run, reason in zip(batch, reasons, strict=True):
            if reason is not None and run.key not in self._valid_though_busy:
                self.display.invalid(reason, again=again)

    def _made_again_at_once(
        self, batch: Batch, lines: Sequence[RunLine], reasons: Sequence[str | None]
    ) -> bool:
        """True if other load disturbed the runs, and there is time to make them again next."""
        if self.extra is None:
            return False
        why = next(filter(None, map(self.extra.busy, lines)), None)
        if why is None:
            return False
        took_s = sum(line.elapsed_s or 0.0 for line in lines)
        again = _may_be_made_again(batch) and self.extra.allows(took_s)
        if again:
            runs = zip(batch, reasons, strict=True)
            self._valid_though_busy |= {run.key for run, reason in runs if reason is None}
            self.to_do.appendleft(_again(batch))
        if again or not self._was_busy:
            self.display.busy(why, again=again)
        self._was_busy = not again  # reported once, not for every run on a machine that stays busy
        if again:
            self.extra.wait(batch[0].cell.workers)
        return again

    def _another_comes_after(self, block: int) -> bool:
        """Return True if the next run is the first of another block.

        It is not while a disturbed run of this block is to be made again at once, nor when invalid
        runs of all blocks are, at the end.
        """
        if not self.to_do:
            return False
        run = self.to_do[0][0]
        return run.attempt == 1 and run.block != block

    def _show_block(self, block: int) -> None:
        planned = self.plan.study.every_block
        if block + 1 < planned:
            text = f"block {block + 1} of {planned} done · {self.left}"
            self.display.block_done(block, text)


def _may_be_made_again(batch: Batch) -> bool:
    return all(run.attempt <= RETRIES for run in batch)


def _again(batch: Batch) -> Batch:
    return tuple(run.at(run.attempt + 1) for run in batch)
