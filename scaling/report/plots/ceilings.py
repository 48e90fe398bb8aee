"""What the services of a workload deliver at most, for the caption of its figures."""

from collections.abc import Iterable

from scaling.analysis.curves.sections import Section
from scaling.base import formats
from scaling.journal.record import CeilingLine, StudyLine, WorkloadNote
from scaling.study.services import LOAD_GENERATOR


def ceilings_of(
    section: Section, study: StudyLine, ceilings: Iterable[CeilingLine]
) -> tuple[CeilingLine, ...]:
    """Those of `ceilings` that were measured for the section's workload and parameters."""
    key = section.curves[0].key
    parameters = key.parameters
    note = study.workloads.get(key.workload, WorkloadNote())
    services = [*note.services, *[LOAD_GENERATOR] * note.served]

    def fits(ceiling: CeilingLine) -> bool:
        asked = ceiling.parameters.items()
        return ceiling.service in services and all(parameters.get(n) == value for n, value in asked)

    return tuple(each for each in ceilings if fits(each))


def ceiling_text(ceilings: Iterable[CeilingLine]) -> str:
    """`site ceiling 14,200 requests/s (pages=10, delay_ms=0; 2 processes)`; empty without any."""
    return ", ".join(
        dict.fromkeys(_text(each, each.requests_per_s) for each in ceilings if each.requests_per_s)
    )


def _text(ceiling: CeilingLine, requests_per_s: float) -> str:
    parameters = (f"{n}={formats.parameter(value)}" for n, value in ceiling.parameters.items())
    several = f"{ceiling.processes} processes" if ceiling.processes > 1 else ""
    measured_with = "; ".join(filter(None, (", ".join(parameters), several)))
    text = f"{ceiling.service} ceiling {formats.number(requests_per_s)} requests/s"
    return f"{text} ({measured_with})" if measured_with else text
