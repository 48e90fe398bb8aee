"""Does the runs of a plan, in the plan's order, and writes each down the moment it is measured.

A run that is written down is kept nowhere else: memory does not grow with the runs of a study.

An invalid run stays in the journal and is made once more when all others are done. One that other
load disturbed is made once more at once (`scaling.run.extra_time`).
"""

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple, Self

from scaling.analysis.statistics.precision_forecast import PairScatter
from scaling.base.errors import INTERRUPTED, ScalingError
from scaling.journal.file import JournalFile
from scaling.journal.identity import cell_key
from scaling.journal.record import Cell, RunLine
from scaling.run.extra_time import ExtraTime
from scaling.run.precision_rule import Rule
from scaling.run.progress import Display
from scaling.run.time_left import TimeLeft
from scaling.run.wording import block_in_words, figure_of, run_in_words
from scaling.study.plan.cells import EXPECTED_OVERHEAD_S, Plan
from scaling.study.plan.order import PlannedRun

# What made a run invalid by chance (a throttled moment, a suspended machine) is gone by the end of
# the study, so once more is enough; what is invalid by its nature (an import that turns the GIL on)
# stays so however often it is tried, and costs the study its time.
RETRIES = 1

type Execute = Callable[[PlannedRun, int], tuple[RunLine, bytes | None]]
type Judge = Callable[[RunLine], str | None]  # why a run is invalid; None where it is not
type Key = tuple[int, str]  # block and cell


class InterruptedStudyError(ScalingError):
    """The user stopped a study; everything measured so far is kept."""

    exit_code = INTERRUPTED


class Attempt(NamedTuple):
    """A run still to do; `attempt` counts from 1."""

    run: PlannedRun
    attempt: int


class Replay:
    """What a journal holds of a study: the attempts at each run, and which are to be made again."""

    def __init__(self) -> None:
        self._attempts: Counter[Key] = Counter()
        self._to_repeat: dict[Key, bool] = {}
        self._blocks = 0

    @classmethod
    def of(cls, measured: Iterable[RunLine], judge: Judge) -> Self:
        """That of a journal with these runs."""
        replay = cls()
        for line in measured:
            replay.add(line, judge(line))
        return replay

    def add(self, line: RunLine, reason: str | None) -> None:
        """The journal's next run, and why it is invalid."""
        key = _key(line.block, line.cell)
        self._attempts[key] += 1
        self._to_repeat[key] = self._attempts[key] <= RETRIES and reason is not None
        self._blocks = max(self._blocks, line.block + 1)

    def blocks(self, plan: Plan) -> int:
        """How many blocks the study has so far: those planned, and what was added to them."""
        return max(self._blocks, plan.study.blocks)

    def remaining(self, runs: Iterable[PlannedRun]) -> list[Attempt]:
        """What the journal does not hold yet of these runs, in the order in which it is to be done.

        First what was never measured, in the order of the runs; then what was, with an invalid
        latest attempt, as long as it has not been tried again `RETRIES` times.
        """
        first, again = [], []
        for run in runs:
            key = _key(run.block, run.cell)
            if key not in self._to_repeat:
                first.append(Attempt(run, 1))
            elif self._to_repeat[key]:
                again.append(Attempt(run, self._attempts[key] + 1))
        return first + again


def is_complete(
    plan: Plan, measured: Collection[RunLine], judge: Judge, rule: Rule | None = None
) -> bool:
    """Whether a journal holds all of a study, the blocks that its rule adds included."""
    replay = Replay.of(measured, judge)
    blocks = replay.blocks(plan)
    if replay.remaining(plan.runs_of(blocks)):
        return False
    return rule is None or rule(measured, blocks).enough


def drive(
    plan: Plan,
    journal: JournalFile,
    execute: Execute,
    judge: Judge,
    display: Display,
    rule: Rule | None = None,
    extra: ExtraTime | None = None,
) -> None:
    """Do what remains of the plan, then block after block until the rule has enough.

    With `extra` time, runs that other load disturbed are made again at once.

    Raises:
        InterruptedStudyError: the user stopped it; the run under way is not in the journal.
    """
    work, replay = _Work(plan, journal, execute, judge, display, extra), Replay()
    for line in journal.runs:  # each is read from the journal and judged once
        reason = judge(line)
        replay.add(line, reason)
        work.learn(line, reason)
    blocks = replay.blocks(plan)
    work.add(replay.remaining(plan.runs_of(blocks)))
    display.begin(len(journal.runs) + len(work.to_do), len(journal.runs))
    work.grant_extra_time()
    try:
        work.do_all()
        while rule is not None:
            standing = rule(journal.runs, blocks)
            if standing.enough:
                display.note(standing.text)
                break
            display.block_done(blocks - 1, standing.text)
            more = [Attempt(run, 1) for run in plan.block(blocks)]
            display.more(len(more))
            work.add(more)
            work.grant_extra_time()
            blocks += 1
            work.do_all()
    except KeyboardInterrupt:
        measured = len(journal.runs)
        raise InterruptedStudyError(
            f"interrupted: {journal.path} has {measured} of {measured + len(work.to_do)} runs. "
            f"The same command goes on from there"
        ) from None
    finally:
        display.end()


class _Work:
    """The runs that are to be done, one after the other, with the account of their time."""

    def __init__(
        self,
        plan: Plan,
        journal: JournalFile,
        execute: Execute,
        judge: Judge,
        display: Display,
        extra: ExtraTime | None,
    ) -> None:
        self.to_do: deque[Attempt] = deque()
        self._plan = plan
        self._journal = journal
        self._execute = execute
        self._judge = judge
        self._display = display
        self._extra = extra
        self._was_busy = False
        self._time = TimeLeft(plan.inside_s, EXPECTED_OVERHEAD_S)
        self._scatter = PairScatter(plan.every_cell)
        self._valid_though_busy: set[Key] = set()

    def grant_extra_time(self) -> None:
        """Grant extra time for all runs to do; call it before the first of them is done."""
        if self._extra is not None:
            self._extra.grant(self._time.left.seconds)

    def add(self, attempts: Iterable[Attempt]) -> None:
        """Do these after all others."""
        for attempt in attempts:
            self.to_do.append(attempt)
            self._time.expect(attempt.run.cell)

    def learn(self, line: RunLine, reason: str | None) -> None:
        """Learn from a measured run what it took and how it scatters; `reason`: it is invalid."""
        self._time.learn(line)
        self._scatter.add(line, is_valid=reason is None)

    def do_all(self) -> None:
        """Do all runs, and those again that have to be."""
        while self.to_do:
            attempt = self.to_do[0]
            self._do(attempt)
            if self._another_comes_after(attempt.run.block):
                self._show_block(attempt.run.block)

    def _do(self, attempt: Attempt) -> None:
        run, number = attempt
        words = run_in_words(run.cell)
        self._display.running(words, self._time.left)
        line, record = self._execute(run, number)
        self._journal.append(line, record)
        self.to_do.popleft()
        self._time.done(run.cell)
        reason = self._judge(line)
        self.learn(line, reason)
        figure = figure_of(line, self._plan.workloads[run.cell.workload].operation)
        self._display.finished(words, figure, self._time.left)
        if not self._made_again_at_once(attempt, line, reason) and reason is not None:
            self._make_again_at_the_end(attempt, reason)

    def _make_again_at_the_end(self, attempt: Attempt, reason: str) -> None:
        """Have an invalid run made again when all others are done, if it was the first attempt."""
        run, number = attempt
        again = number <= RETRIES
        if again:
            self.add([Attempt(run, number + 1)])
        if _key(run.block, run.cell) not in self._valid_though_busy:
            self._display.invalid(reason, again=again)

    def _made_again_at_once(self, attempt: Attempt, line: RunLine, reason: str | None) -> bool:
        """Whether other load disturbed the run, and there is time to make it again next."""
        run, number = attempt
        why = self._extra.busy(line) if self._extra is not None else None
        if self._extra is None or why is None:
            return False
        again = number <= RETRIES and self._extra.allows(line.elapsed_s or 0.0)
        if again or not self._was_busy:
            self._display.busy(why, again=again)
        self._was_busy = not again  # reported once, not for every run on a machine that stays busy
        if again:
            if reason is None:
                self._valid_though_busy.add(_key(run.block, run.cell))
            self._extra.wait(run.cell.workers)
            self.to_do.appendleft(Attempt(run, number + 1))
            self._time.expect(run.cell)
        return again

    def _another_comes_after(self, block: int) -> bool:
        """Whether the next run is the first of another block.

        It is not while a disturbed run of this block is to be made again at once, nor when invalid
        runs of all blocks are, at the end.
        """
        return bool(self.to_do) and self.to_do[0].attempt == 1 and self.to_do[0].run.block != block

    def _show_block(self, block: int) -> None:
        planned = self._plan.study.blocks
        if block + 1 < planned:
            known = self._scatter
            text = block_in_words(block + 1, planned, self._time.left, known.value, known.figure)
            self._display.block_done(block, text)


def _key(block: int, cell: Cell) -> Key:
    return block, cell_key(cell)
