"""The most that services, and a process of the load generator, can deliver: measured once a study.

From its ceiling follows how many processes the load generator of a study has.
"""

import math
from collections.abc import Iterable, Iterator, Mapping

from scaling.builds.cache import Say
from scaling.journal.file import JournalFile
from scaling.journal.record import CeilingLine, Cell, Parameters, ParameterValue
from scaling.machine.topology import Topology
from scaling.run.service_process import ServiceError
from scaling.run.services import Services
from scaling.run.session import InterruptedStudyError
from scaling.study.load import RATE, ROOM, is_known, open_loop_rate, share_of_peak
from scaling.study.plan.cells import Plan
from scaling.study.services import LOAD_GENERATOR, WITH_CEILING


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
# The number of processes of a study's load generator, equal in all of its runs.
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
    """The number of connections, or of rooms of them: processes share these, one each at least."""
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
    """The most that one process can send with these parameters; None where it was not measured."""
    own = WITH_CEILING[LOAD_GENERATOR].parameters_of(parameters)
    rates = [
        each.requests_per_s
        for each in ceilings
        if each.service == LOAD_GENERATOR and each.parameters == own and each.requests_per_s
    ]
    return min(rates, default=None)
