"""Ceilings of services, how many load generators a study needs, and the peaks that its rates are
shares of.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from statistics import median

from scaling.base.errors import ScalingError
from scaling.base.formats import listed, number
from scaling.builds.cache import Say
from scaling.journal.file import JournalFile
from scaling.journal.record import (
    Calibration,
    CeilingLine,
    Cell,
    Parameters,
    ParameterValue,
    RatesLine,
    RunLine,
)
from scaling.machine.topology import Topology
from scaling.run.progress import figure_of, run_in_words
from scaling.run.service_process import ServiceError
from scaling.run.services import Services
from scaling.run.session import Done, InterruptedStudyError, Step
from scaling.study.load import (
    RATE,
    ROOM,
    Needed,
    calibration_runs,
    is_known,
    open_loop_rate,
    rates_for,
    share_of_peak,
)
from scaling.study.plan.cells import Plan
from scaling.study.plan.order import PlannedRun
from scaling.study.plan.table import with_parameters
from scaling.study.services import LOAD_GENERATOR, WITH_CEILING

# ----------------------------------------------------------------------------------------- ceilings
# The ceilings of a study's services: which a journal does not have yet, and their measurement.
#
# The load generator has one, too: what one of its processes can send at most.


def measure_ceilings(plan: Plan, journal: JournalFile, services: Services, note: Say) -> None:
    """Measure what the journal lacks; `note` is called with why one could not be measured.

    Raises:
        UsageError: a workload needs a service that does not exist.
        ServiceError: a service cannot be started.
        InterruptedStudyError: the user stopped it.
    """
    try:
        for service, parameters in _missing(plan, journal):
            if service != LOAD_GENERATOR:
                services.need(service, parameters)  # no run of the workload is possible without it
            try:
                journal.append(services.ceiling(service, parameters))
            except ServiceError as error:  # costs the figure, not the study
                note(str(error))
            if service == LOAD_GENERATOR:
                services.end(service)
    except KeyboardInterrupt:
        raise InterruptedStudyError(
            f"interrupted while ceilings were measured: {journal.path} has those before. "
            "The same command goes on from there"
        ) from None


def _missing(plan: Plan, journal: JournalFile) -> Iterator[tuple[str, Parameters]]:
    """Each service of the plan, once for each set of its parameters, if not in the journal."""
    known = {(line.service, Parameters.of(line.parameters)) for line in journal.ceilings}
    for cell in plan.cells:
        facts = plan.workloads[cell.workload]
        has_generator = facts.served and ROOM not in cell.parameters
        for service in (*facts.services, *[LOAD_GENERATOR] * has_generator):
            kind = WITH_CEILING.get(service)
            if kind and kind.to_load is None:
                continue
            parameters = kind.parameters_of(cell.parameters) if kind else {}
            key = service, Parameters.of(parameters)
            if key not in known:
                known.add(key)
                yield key


# ---------------------------------------------------------------------------------- generator count
# How many processes the load generator of a study has: as many in every run of it.
#
# No more than there are cores for beside the workers. Enough for the highest rate that the study
# names as a number, by the ceiling that was measured. In a closed loop a worker can answer about as
# fast as a generator process can send, so there is one for each worker. Rates that are shares of
# the peak take as many as a closed loop, times the share over `BUSY_PLANNED` where that is above 1.

PROCESSES_MOST = 64  # that one generator takes (`workers.services.load.options`)
BUSY_PLANNED = 0.5
"""Share of its ceiling that a process is to send. A run with a busier one than 70 % is invalid, and
sending one by one, as an open loop does, takes more CPU time than a closed loop's ceiling shows."""


def generator_processes(plan: Plan, ceilings: Iterable[CeilingLine], topology: Topology) -> int:
    """Processes for every run of the plan; 1 where nothing is served or no core is left."""
    served = [cell for cell in plan.cells if plan.workloads[cell.workload].served]
    cores = int(topology.usable_cores)
    beside = max((cell.workers for cell in served if cell.workers < cores), default=cores)
    known = list(ceilings)
    needed = (_needed(cell, beside, known) for cell in served)
    shared = (_shared(cell, plan) for cell in served)
    most = min(PROCESSES_MOST, cores - beside, min(shared, default=1))
    return max(1, min(most, max(needed, default=1)))


def _shared(cell: Cell, plan: Plan) -> int:
    """What processes share, one each at least: connections, or the rooms that these are in."""
    connections = plan.in_flight(cell) or cell.workers
    room = cell.parameters.get(ROOM)
    return connections // room if isinstance(room, int) else connections


def _needed(cell: Cell, most_workers: int, ceilings: Iterable[CeilingLine]) -> int:
    rate = open_loop_rate(cell.parameters)
    if rate is None:  # a closed loop, as a calibration is, or a share of what that gives
        share = 1.0 if is_known(cell) else share_of_peak(cell.parameters[RATE]) / BUSY_PLANNED
        return math.ceil(min(cell.workers, most_workers) * max(share, 1.0))
    per_s = _ceiling_per_s(cell.parameters, ceilings)
    return 1 if per_s is None else math.ceil(rate / (BUSY_PLANNED * per_s))


def _ceiling_per_s(
    parameters: Mapping[str, ParameterValue], ceilings: Iterable[CeilingLine]
) -> float | None:
    """What one process can send with these parameters; None where that was not measured."""
    own = WITH_CEILING[LOAD_GENERATOR].parameters_of(parameters)
    rates = [
        each.requests_per_s
        for each in ceilings
        if each.service == LOAD_GENERATOR and each.parameters == own and each.requests_per_s
    ]
    return min(rates, default=None)


# ---------------------------------------------------------------------------------------- calibrate

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
    """At which rates a run may have too few requests for P99, and which window has enough; or
    nothing.

    Background requests, which have no part in it, are as frequent as they were in `every` run of
    the calibration.
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
