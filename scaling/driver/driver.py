"""Does the runs of a plan, in the plan's order, and writes each down the moment it is measured."""

from collections import Counter
from collections.abc import Callable, Sequence

from scaling.driver.progress import Display, TimeLeft
from scaling.driver.run_wording import figure_of, run_in_words
from scaling.errors import ScalingError
from scaling.journal.identity import cell_key
from scaling.journal.journal import Journal
from scaling.journal.record import RunLine
from scaling.plan.order import PlannedRun
from scaling.plan.plan import EXPECTED_OVERHEAD_S, Plan

type Execute = Callable[[PlannedRun, int], tuple[RunLine, bytes | None]]


class InterruptedStudyError(ScalingError):
    """The user stopped a study; everything measured so far is kept."""

    exit_code = 130  # what shells call a program that Ctrl-C ended


def remaining(runs: Sequence[PlannedRun], measured: Sequence[RunLine]) -> list[PlannedRun]:
    """The runs of a plan that a journal does not hold yet, in the plan's order."""
    done = Counter((line.block, cell_key(line.cell)) for line in measured)
    return [run for run in runs if not done[run.block, cell_key(run.cell)]]


def drive(plan: Plan, journal: Journal, execute: Execute, display: Display) -> None:
    """Do what remains of the plan.

    Raises:
        InterruptedStudyError: the user stopped it; the run under way is not in the journal.
    """
    runs = plan.runs
    to_do = remaining(runs, journal.runs)
    left = TimeLeft(EXPECTED_OVERHEAD_S)
    inside_s = plan.study.warmup_s + plan.study.window_s
    display.begin(len(runs), len(runs) - len(to_do))
    try:
        for number, run in enumerate(to_do):
            still = len(to_do) - number
            words = run_in_words(run.cell)
            display.running(words, left.of(still * inside_s, still))
            line, record = execute(run, 1)
            journal.append(line, record)
            left.measured(line.elapsed_s or 0.0, inside_s)
            operation = plan.workloads[run.cell.workload].operation
            figure = figure_of(line, operation)
            display.finished(words, figure, left.of((still - 1) * inside_s, still - 1))
    except KeyboardInterrupt:
        raise InterruptedStudyError(
            f"interrupted: {len(journal.runs)} of {len(runs)} runs are in {journal.path}. "
            f"The same command goes on from there"
        ) from None
    finally:
        display.end()
