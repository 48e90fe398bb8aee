"""How many processes the load generator of a study has: as many in every run of it.

Enough for the highest rate of the study, by the ceiling that was measured, and no more than there
are cores for beside the workers. In a closed loop a worker can answer about as fast as a generator
process can send, so there is one for each worker.
"""

import math
from collections.abc import Iterable, Mapping

from scaling.journal.record import CeilingLine, Cell, ParameterValue
from scaling.machine.topology import Topology
from scaling.run.load import Elsewhere
from scaling.study.load import open_loop_rate
from scaling.study.plan.cells import Plan
from scaling.study.services import LOAD_GENERATOR, WITH_CEILING

PROCESSES_MOST = 64  # that one generator takes (`workers.services.load.options`)
BUSY_PLANNED = 0.5
"""Share of its ceiling that a process is to send. A run with a busier one than 70 % is invalid, and
sending one by one, as an open loop does, takes more CPU time than a closed loop's ceiling shows."""


def generator_processes(
    plan: Plan,
    ceilings: Iterable[CeilingLine],
    topology: Topology,
    elsewhere: Elsewhere | None = None,
) -> int:
    """Processes for every run of the plan; 1 where nothing is served or no core is left.

    Another host has nothing else to do: one for each of its cores.
    """
    served = [cell for cell in plan.cells if plan.workloads[cell.workload].served]
    cores = int(topology.usable_cores)
    beside = max((cell.workers for cell in served if cell.workers < cores), default=cores)
    known = list(ceilings)
    needed = (_needed(cell, beside, known) for cell in served)
    connections = (plan.in_flight(cell) or cell.workers for cell in served)
    if elsewhere is not None:
        return min(PROCESSES_MOST, elsewhere.cores, *connections)
    most = min(PROCESSES_MOST, cores - beside, min(connections, default=1))
    return max(1, min(most, max(needed, default=1)))


def _needed(cell: Cell, most_workers: int, ceilings: Iterable[CeilingLine]) -> int:
    rate = open_loop_rate(cell.parameters)
    if rate is None:  # a closed loop, as a calibration is
        return min(cell.workers, most_workers)
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
