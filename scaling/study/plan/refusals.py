"""What cannot be run: the plan gives the reason, before anything crashes."""

from collections.abc import Mapping
from dataclasses import dataclass

from scaling.journal.record import Description, ParameterValue, WorkloadFacts
from scaling.study.services import SERVICES, beside, in_front


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Cells that cannot be run, and the reason; it names the number of workers if that is why."""

    workload: str
    loop: str
    arm: str
    model: str
    sizing: str
    reason: str


def refusal(
    description: Description,
    parameters: Mapping[str, ParameterValue],
    *,
    workload: str,
    model: str,
    loop: str,
    sizing: str,
) -> str | None:
    """Why the environment cannot run this with these parameters; None if it can."""
    facts = description.workloads.get(workload)
    if facts is None:
        return "this build's environment does not have the workload"
    if facts.refused is not None:
        return facts.refused
    without = _without_service(facts, parameters, description.packages)
    if without is not None:
        return without
    for what, name, offers in (
        ("model", model, description.models),
        ("loop", loop, description.loops),
    ):
        if name not in offers:
            return f"this build's environment does not have the {what} {name}"
        reason = offers[name].refused
        if reason is not None:
            return reason
    given = dict(parameters).items()
    for each in facts.refusals:
        if (each.model, each.loop) == (model, loop) and each.parameters.items() <= given:
            when = ", ".join(f"{name}={value}" for name, value in each.parameters.items())
            return f"{when}: {each.reason}" if when else each.reason
    return _against_dealing_out(facts, parameters) if sizing == "strong" else None


def _without_service(
    facts: WorkloadFacts, parameters: Mapping[str, ParameterValue], packages: Mapping[str, str]
) -> str | None:
    """Why a service that it needs cannot be had; None if all can."""
    unknown = [name for name in facts.services if name not in SERVICES]
    if unknown:
        return f"it needs a service {unknown[0]!r}; there are: {', '.join(SERVICES)}"
    needed = filter(None, (*beside(facts.services, parameters), in_front(parameters)))
    reasons = (SERVICES[name].missing(packages) for name in needed)
    return next(filter(None, reasons), None)


def _against_dealing_out(
    facts: WorkloadFacts, parameters: Mapping[str, ParameterValue]
) -> str | None:
    """Why work in flight cannot be divided among the workers, as strong sizing does."""
    if facts.in_flight is None:
        return "strong sizing divides work in flight, and this workload has no parameter for it"
    for each in facts.uneven:
        if each.parameters.items() <= dict(parameters).items():
            when = "".join(f"{name}={value}: " for name, value in each.parameters.items())
            return f"{when}strong sizing divides work in flight, and {each.reason}"
    return None
