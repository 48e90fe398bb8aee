"""The ceilings of a study's services: which a journal does not have yet, and their measurement.

The load generator has one, too: what one of its processes can send at most.
"""

from collections.abc import Callable, Iterator

from scaling.journal.file import JournalFile
from scaling.journal.record import Parameters
from scaling.run.service_process import ServiceError
from scaling.run.services import Services
from scaling.run.session import InterruptedStudyError
from scaling.study.plan.cells import Plan
from scaling.study.services import LOAD_GENERATOR, WITH_CEILING


def measure_ceilings(
    plan: Plan, journal: JournalFile, services: Services, note: Callable[[str], None]
) -> None:
    """Measure what the journal lacks; `note` is called with why one could not be measured.

    Raises:
        UsageError: a workload needs a service that does not exist.
        ServiceError: a service cannot be started.
        InterruptedStudyError: the user stopped it.
    """
    try:
        for service, parameters in _missing(plan, journal):
            _measure(service, parameters, journal, services, note)
    except KeyboardInterrupt:
        raise InterruptedStudyError(
            f"interrupted while ceilings were measured: {journal.path} has those before. "
            "The same command goes on from there"
        ) from None


def _measure(
    service: str,
    parameters: Parameters,
    journal: JournalFile,
    services: Services,
    note: Callable[[str], None],
) -> None:
    if service != LOAD_GENERATOR:
        services.need(service, parameters)  # without it no run of the workload can be measured
    try:
        journal.append(services.ceiling(service, parameters))
    except ServiceError as error:  # costs the figure, not the study
        note(str(error))
    if service == LOAD_GENERATOR:
        services.end(service)


def _missing(plan: Plan, journal: JournalFile) -> Iterator[tuple[str, Parameters]]:
    """Each service of the plan, once for each set of its parameters, if not in the journal."""
    known = {(line.service, Parameters.of(line.parameters)) for line in journal.ceilings}
    for cell in plan.cells:
        facts = plan.workloads[cell.workload]
        has_generator = facts.served and not plan.study.load_elsewhere  # one of this machine
        for service in (*facts.services, *[LOAD_GENERATOR] * has_generator):
            kind = WITH_CEILING.get(service)
            if kind and kind.to_load is None:
                continue
            parameters = kind.parameters_of(cell.parameters) if kind else {}
            key = service, Parameters.of(parameters)
            if key not in known:
                known.add(key)
                yield key
