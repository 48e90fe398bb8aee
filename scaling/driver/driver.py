"""Does the runs of a plan, in the plan's order, and writes each down the moment it is measured.

What cannot be believed stays in the journal and is done once more when all else is done.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from scaling.driver.progress import Display, TimeLeft
from scaling.driver.run_wording import figure_of, run_in_words
from scaling.errors import ScalingError
from scaling.journal.identity import cell_key
from scaling.journal.journal import Journal
from scaling.journal.record import Cell, RunLine
from scaling.plan.order import PlannedRun
from scaling.plan.plan import EXPECTED_OVERHEAD_S, Plan

# What made a run invalid by chance (a throttled moment, a suspended machine) is gone by the end of
# the study, so once more is enough; what is invalid by its nature (an import that turns the GIL on)
# stays so however often it is tried, and costs the study its time.
RETRIES = 1

type Execute = Callable[[PlannedRun, int], tuple[RunLine, bytes | None]]
type Judge = Callable[[RunLine], str | None]  # why a run is invalid; None where it is not


class InterruptedStudyError(ScalingError):
    """The user stopped a study; everything measured so far is kept."""

    exit_code = 130  # what shells call a program that Ctrl-C ended


class Attempt(NamedTuple):
    """A run still to do; `attempt` counts from 1."""

    run: PlannedRun
    attempt: int


def remaining(
    runs: Sequence[PlannedRun], measured: Sequence[RunLine], judge: Judge
) -> list[Attempt]:
    """What a journal does not hold yet of a plan's runs, in the order in which it is to be done.

    First what was never measured, in the plan's order; then what was, with an invalid latest
    attempt, as long as it has not been tried again `RETRIES` times.
    """
    done: dict[tuple[int, str], list[RunLine]] = {}
    for line in measured:
        done.setdefault(_key(line.block, line.cell), []).append(line)
    first, again = [], []
    for run in runs:
        lines = done.get(_key(run.block, run.cell), [])
        if not lines:
            first.append(Attempt(run, 1))
        elif len(lines) <= RETRIES and judge(lines[-1]) is not None:
            again.append(Attempt(run, len(lines) + 1))
    return first + again


def drive(plan: Plan, journal: Journal, execute: Execute, judge: Judge, display: Display) -> None:
    """Do what remains of the plan.

    Raises:
        InterruptedStudyError: the user stopped it; the run under way is not in the journal.
    """
    to_do = deque(remaining(plan.runs, journal.runs, judge))
    left = TimeLeft(EXPECTED_OVERHEAD_S)
    inside_s = plan.study.warmup_s + plan.study.window_s
    display.begin(len(journal.runs) + len(to_do), len(journal.runs))
    try:
        while to_do:
            run, attempt = to_do[0]
            words = run_in_words(run.cell)
            display.running(words, left.of(len(to_do) * inside_s, len(to_do)))
            line, record = execute(run, attempt)
            journal.append(line, record)
            to_do.popleft()
            left.measured(line.elapsed_s or 0.0, inside_s)
            reason = judge(line)
            if reason is not None and attempt <= RETRIES:
                to_do.append(Attempt(run, attempt + 1))
            figure = figure_of(line, plan.workloads[run.cell.workload].operation)
            display.finished(words, figure, left.of(len(to_do) * inside_s, len(to_do)))
            if reason is not None:
                display.invalid(reason, again=attempt <= RETRIES)
    except KeyboardInterrupt:
        measured = len(journal.runs)
        raise InterruptedStudyError(
            f"interrupted: {measured} of {measured + len(to_do)} runs are in {journal.path}. "
            f"The same command goes on from there"
        ) from None
    finally:
        display.end()


def _key(block: int, cell: Cell) -> tuple[int, str]:
    return block, cell_key(cell)
