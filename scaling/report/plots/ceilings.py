"""What the services of a workload deliver at most, for the caption of its figures."""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence

from scaling.analysis.curves.sections import Section
from scaling.base import formats
from scaling.journal.record import CeilingLine, StudyLine
from scaling.study.services import LOAD_GENERATOR


def ceilings_of(
    section: Section, study: StudyLine, ceilings: Iterable[CeilingLine], *, served: bool
) -> tuple[CeilingLine, ...]:
    """Those of `ceilings` that were measured for the section's workload and parameters.

    Older journals do not record with which parameters a ceiling was measured, nor which services a
    workload has: there `served`, whether any service was seen at work in its runs, decides.
    """
    key = section.curves[0].key
    parameters = json.loads(key.parameters)
    note = study.workloads.get(key.workload)
    services = note.services if note else None

    if note and note.served:
        services = [*(services or ()), LOAD_GENERATOR]

    def fits(ceiling: CeilingLine) -> bool:
        used = served if services is None else ceiling.service in services
        asked = ceiling.parameters or {}
        return used and all(parameters.get(name) == value for name, value in asked.items())

    return tuple(each for each in ceilings if fits(each))


def ceiling_text(ceilings: Sequence[CeilingLine]) -> str:
    """`site ceiling 14,200 requests/s (pages=10, delay_ms=0; 2 processes)`; empty without any."""
    known: dict[tuple[str, str], list[str]] = defaultdict(list)
    for each in ceilings:
        if each.requests_per_s is not None:
            known[each.service, _with(each)].append(formats.number(each.requests_per_s))
    return ", ".join(
        f"{service} {_ceiling(list(dict.fromkeys(rates)), measured_with)}"
        for (service, measured_with), rates in known.items()
    )


def _ceiling(rates: list[str], measured_with: str) -> str:
    if measured_with:
        return f"ceiling {formats.listed(rates)} requests/s ({measured_with})"
    if len(rates) == 1:
        return f"ceiling {rates[0]} requests/s"
    return f"ceilings {formats.listed(rates)} requests/s (with which parameters is not recorded)"


def _with(ceiling: CeilingLine) -> str:
    """What it was measured with; empty in older journals."""
    asked = (ceiling.parameters or {}).items()
    parameters = ", ".join(f"{name}={formats.parameter(value)}" for name, value in asked)
    several = f"{ceiling.processes} processes" if (ceiling.processes or 1) > 1 else ""
    return "; ".join(part for part in (parameters, several) if part)
