"""What `--scale` does: it multiplies the amounts of a workload (operations, tasks, in flight).

The workload says which parameters are amounts (`scaled` in its description). The settled study has
the amounts that are run, and all output about a scaled study says that it is scaled.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from scaling.base.formats import percent
from scaling.journal.record import ParameterFacts, ParameterValue, WorkloadFacts

MUCH = 1_000_000  # operations per worker from which a finite run can take a minute


def scaled(
    facts: WorkloadFacts, parameters: Mapping[str, Iterable[ParameterValue]], scale: float
) -> dict[str, list[ParameterValue]]:
    """All parameters with the values they take, the amounts among them times `scale`.

    An amount is rounded and stays above the least that its parameter may be, which is 1 where the
    parameter does not say; values that become the same are one.
    """
    return {
        name: list(
            dict.fromkeys(
                _scaled(facts.parameters[name], value, scale) if name in facts.scaled else value
                for value in values
            )
        )
        for name, values in parameters.items()
    }


def _scaled(facts: ParameterFacts, value: ParameterValue, scale: float) -> ParameterValue:
    if type(value) is not int or scale == 1:
        return value
    least = 1 if facts.at_least is None else round(facts.at_least)
    return max(least, round(value * scale))


def amount(facts: WorkloadFacts, parameters: Mapping[str, ParameterValue]) -> int:
    """The largest amount among the parameters; 0 where there is none."""
    values = (parameters.get(name) for name in facts.scaled)
    return max((value for value in values if type(value) is int), default=0)


def scaled_to(study: Mapping[str, Any]) -> str:
    """`scaled to 1 %`, of a study as the journal keeps it; empty where it is in its full size."""
    scale = float(study.get("scale") or 1.0)
    return "" if scale == 1 else f"scaled to {percent(scale)}"
