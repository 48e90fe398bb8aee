"""The peaks that the rates of a study are shares of: measured in its first block, as any other run.

A peak is the median rate of the best candidate in a closed loop.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from statistics import median

from scaling.base.errors import ScalingError
from scaling.base.formats import listed, number
from scaling.builds.cache import Say
from scaling.journal.record import Calibration, Cell, RatesLine, RunLine
from scaling.run.progress import figure_of, run_in_words
from scaling.run.session import Done, Step
from scaling.study.load import Needed, calibration_runs, rates_for
from scaling.study.plan.cells import Plan
from scaling.study.plan.order import PlannedRun
from scaling.study.plan.table import with_parameters

MORE = 1.05  # than needed: arrivals are random, and 2,000 of them vary by 2 %


class Peaks:
    """The peaks that the rates of a study are made from; there are none where all are numbers.

    `steps`: a label, a function and the expected seconds for each calibration run. `execute` runs a
    cell with a window of 1 s. A step raises ScalingError where no run of the first round of a
    calibration was measured.
    """

    def __init__(self, plan: Plan, execute: Callable[[PlannedRun], Done], note: Say) -> None:
        self._plan, self._execute, self._note = plan, execute, note
        self._lines: list[RunLine] = []
        self._needed = plan.calibrations
        self.steps: list[Step] = [
            (
                f"calibration: {run_in_words(cell)}",
                partial(self._run, PlannedRun(place, 0, cell)),
                plan.calibration_s(cell),
            )
            for place, cell in enumerate(calibration_runs(self._needed))
        ]

    def _run(self, planned: PlannedRun) -> None:
        self._lines.append(self._execute(planned)[0])
        for needed in self._needed:
            lines = self._lines_of(needed)
            if len(lines) == len(needed.candidates):  # its first round ends
                _achieved(needed, lines, self._plan)

    def _lines_of(self, needed: Needed) -> list[RunLine]:
        return [line for line in self._lines if line.cell in needed.candidates]

    def rates(self) -> RatesLine:
        """The rates, once all steps are done."""
        made = []
        for needed in self._needed:
            lines = self._lines_of(needed)
            made.append(_calibration(needed, lines, self._plan))
            self._note(_in_words(made[-1], needed, self._plan))
            if without := without_p99(made[-1], lines, self._plan.study.window_s):
                self._note(without)
        plan = self._plan.at_rates(made)
        return RatesLine(
            calibrations=made,
            runs_per_block=len(plan.slots),
            headline_runs=plan.headline_runs,
        )


def _achieved(needed: Needed, lines: Sequence[RunLine], plan: Plan) -> dict[Cell, list[float]]:
    """The requests per second of the measured runs of each candidate.

    Raises:
        ScalingError: no run was measured.
    """
    found: dict[Cell, list[float]] = {}
    for line in lines:
        if line.outcome == "measured" and line.load and line.load.achieved_per_s > 0:
            found.setdefault(line.cell, []).append(line.load.achieved_per_s)
    if not found:
        why = figure_of(lines[-1], plan.workloads[needed.workload])
        raise ScalingError(
            f"the rates of {needed.workload} cannot be calibrated: no run of the baseline was "
            f"measured ({why}). Name the rates: --set {needed.workload}.rate_per_s=1000,2000"
        )
    return found


def _calibration(needed: Needed, lines: Sequence[RunLine], plan: Plan) -> Calibration:
    """The best of the candidates, by the median of its runs."""
    found = _achieved(needed, lines, plan)
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


def without_p99(made: Calibration, every: Sequence[RunLine], window_s: float) -> str:
    """Rates at which a run may have too few requests for P99, and a window with enough; or nothing.

    Background requests, which have no part in P99, are as frequent as in `every` run of the
    calibration.
    """
    # numpy: `--help` needs none
    from scaling.analysis.table.latency import SHARES, counted, fewest, histograms_of

    timed = counted(chain.from_iterable(map(histograms_of, every))).total
    aside = counted(line.load.background for line in every if line.load).total
    least = fewest(SHARES["p99"])
    needed = least * (timed + aside) / max(timed, 1)
    few = sorted({rate for rate in made.rates.values() if rate * window_s < MORE * needed})
    if not few:
        return ""
    of_all = f" besides background requests, {needed:,.0f} with them" if aside else ""
    return (
        f"P99 takes {least:,} requests{of_all}. At {listed(map(number, few))}/s a window of "
        f"{window_s:g} s may have fewer, and then there is no P99: use --seconds "
        f"{math.ceil(MORE * needed / few[0])}"
    )


def _in_words(made: Calibration, needed: Needed, plan: Plan) -> str:
    """The peak and the rates; with the parameters of a workload that has several peaks."""
    workload = plan.workloads[needed.workload]
    several = [each.workload for each in plan.calibrations].count(needed.workload) > 1
    whose = with_parameters(needed.workload, needed.parameters, workload) if several else ""
    runs, rates = made.runs_per_s, sorted(set(made.rates.values()))
    return (
        f"peak of {run_in_words(made.baseline)}{whose and f' ({whose})'}: "
        f"{number(made.peak_per_s)} {workload.operation}/s "
        f"({number(min(runs))}–{number(max(runs))}); rates: {', '.join(map(number, rates))}"
    )
