"""The calibration of a study's rates: the peak of the baseline, measured before the first run."""

from collections.abc import Callable
from dataclasses import replace
from statistics import median

import msgspec

from scaling.base.errors import ScalingError
from scaling.base.formats import duration, number, plural
from scaling.journal.record import Calibration, Cell, RunLine
from scaling.run.progress import Display
from scaling.run.session import Execute, InterruptedStudyError
from scaling.run.time_left import Left
from scaling.run.wording import figure_of, run_in_words
from scaling.study.plan.cells import Plan
from scaling.study.plan.order import PlannedRun
from scaling.study.rates import CALIBRATION_WINDOW_S, Needed, calibration_runs, rates_for


def calibrate(
    plan: Plan, executor: Callable[[Plan], Execute], display: Display
) -> list[Calibration]:
    """Measure the peaks that the plan's rates are made from; nothing where all are numbers.

    `executor` makes what runs the cells of a plan.

    Raises:
        ScalingError: no run of a baseline was measured.
        InterruptedStudyError: the user stopped it.
    """
    study = msgspec.structs.replace(plan.study, window_s=CALIBRATION_WINDOW_S)
    execute = executor(replace(plan, study=study))
    inside_s = CALIBRATION_WINDOW_S + study.warmup_s
    made = []
    for needed in plan.calibrations:
        cells = calibration_runs([needed])
        operation = plan.workloads[needed.workload].operation
        left_s = sum(inside_s + plan.overhead_s(cell) for cell in cells)
        display.note(
            f"calibrating {_name(needed, plan)}: {plural(len(cells), 'run')}, {duration(left_s)}"
        )
        lines = []
        display.begin(len(cells), 0, what="calibration runs")
        try:
            for place, cell in enumerate(cells):
                words = run_in_words(cell)
                display.running(words, Left(left_s))
                lines.append(execute(PlannedRun(place, 0, cell), 1)[0])
                left_s -= inside_s + plan.overhead_s(cell)
                display.finished(words, figure_of(lines[-1], operation), Left(left_s))
        except KeyboardInterrupt:
            raise InterruptedStudyError(
                "interrupted while the rates were calibrated: nothing is measured yet. "
                "The same command starts again"
            ) from None
        finally:
            display.end()
        made.append(_calibration(needed, lines, plan))
        display.note(_in_words(made[-1], operation))
    return made


def _calibration(needed: Needed, lines: list[RunLine], plan: Plan) -> Calibration:
    """The best of the candidates, by the median of its runs."""
    found: dict[Cell, list[float]] = {}
    for line in lines:
        if line.outcome == "measured" and line.load and line.load.achieved_per_s > 0:
            found.setdefault(line.cell, []).append(line.load.achieved_per_s)
    if not found:
        why = figure_of(lines[-1], plan.workloads[needed.workload].operation)
        raise ScalingError(
            f"the rates of {needed.workload} cannot be calibrated: no run of the baseline was "
            f"measured ({why}). Name the rates: --set {needed.workload}.rate_per_s=1000,2000"
        )
    best = max(found, key=lambda cell: median(found[cell]))
    peak = median(found[best])
    return Calibration(
        workload=needed.workload,
        parameters=dict(needed.parameters),
        baseline=best,
        peak_per_s=peak,
        runs_per_s=found[best],
        rates=rates_for(needed.names, peak),
    )


def _name(needed: Needed, plan: Plan) -> str:
    """`serve`; where a workload has several, with its parameters that are not at their defaults."""
    if [each.workload for each in plan.calibrations].count(needed.workload) == 1:
        return needed.workload
    known = plan.workloads[needed.workload].parameters
    changed = [
        f"{name}={value}"
        for name, value in needed.parameters.items()
        if value != known[name].default
    ]
    return f"{needed.workload} ({', '.join(changed)})" if changed else needed.workload


def _in_words(made: Calibration, operation: str) -> str:
    runs, rates = made.runs_per_s, sorted(set(made.rates.values()))
    return (
        f"peak of {run_in_words(made.baseline)}: {number(made.peak_per_s)} {operation}/s "
        f"({number(min(runs))}–{number(max(runs))}); rates: {', '.join(map(number, rates))}"
    )
