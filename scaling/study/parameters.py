"""Parameters of workloads: values of a study file or `--set`, checked against `--describe`.

The description document of the child (`ParameterFacts`) is the only source of names, types and
limits; nothing of the workload is imported here.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from scaling.base.errors import UsageError, unknown
from scaling.base.formats import percent
from scaling.journal.record import ParameterFacts, ParameterValue, StudyLine, WorkloadFacts
from scaling.study.definition import Override
from scaling.study.load import CLOSED, RATE, RATE_LEAST, RATE_MOST
from scaling.study.rates import checked_rate

# ------------------------------------------------------------------------------------------- scaled
# What `--scale` does: it multiplies the amounts of a workload (operations, tasks, in flight).
#
# The workload says which parameters are amounts (`scaled` in its description). The settled study
# has the amounts that are run, and all output about a scaled study says that it is scaled.

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


# --------------------------------------------------------------------------------------- parameters

EXPECTED = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
}
EVERY = "*"  # stands for all choices of a parameter that has them
RENAMED = {"gunicorn": "gunicorn-gthread"}  # a server as 1.0 called it, and its name now


def sweep(
    facts: ParameterFacts, value: object, where: str, *, calibrated: bool = False
) -> tuple[ParameterValue, ...]:
    """The values of one parameter from a study file: one, or the several of a list, each once.

    Of a parameter with choices `*` stands for all of them, in the order in which it declares them.
    With `calibrated` it is a rate, and a text is one that a calibration decides.

    Raises:
        UsageError: a value that does not fit, or no value at all.
    """
    several = value if isinstance(value, list) else [value]
    if facts.choices and several == [EVERY]:
        several = facts.choices
    if not several:
        raise UsageError(f"{where}: the list is empty; leave the key out for the default")
    check = _rate if calibrated else checked
    return tuple(dict.fromkeys(check(facts, each, where) for each in several))


def _rate(facts: ParameterFacts, value: object, where: str) -> ParameterValue:
    """A text that a calibration decides, or requests per second; 0 is a closed loop."""
    if isinstance(value, str):
        if facts.at_least:
            raise UsageError(
                f"{where}: expected a rate per second, got {value!r}: a calibration measures a "
                "closed loop, and this workload has none"
            )
        return checked_rate(value, where)
    rate = checked(facts, value, where)
    number = rate if isinstance(rate, int | float) else CLOSED
    if number != CLOSED and not RATE_LEAST <= number <= RATE_MOST:
        raise UsageError(
            f"{where}: expected {RATE_LEAST} to {RATE_MOST:,} requests per second, or 0 for a "
            f"closed loop, got {value!r}"
        )
    return rate


def checked(facts: ParameterFacts, value: object, where: str) -> ParameterValue:
    """The value as the parameter's type, or the reason why it cannot be.

    Raises:
        UsageError: a wrong type, none of the choices, or too small.
    """
    if facts.type == "float" and type(value) is int:
        value = float(value)
    typed = value if isinstance(value, bool | int | float | str) else None
    finite = not isinstance(value, float) or math.isfinite(value)
    if typed is None or type(typed).__name__ != facts.type or not finite:
        raise UsageError(f"{where}: expected {EXPECTED.get(facts.type, facts.type)}, got {value!r}")
    if facts.choices is not None and typed not in facts.choices:
        renamed = RENAMED.get(str(typed))
        if renamed not in facts.choices:
            raise unknown("value", str(typed), facts.choices, where=where)
        return renamed
    if facts.at_least is not None and not isinstance(typed, str) and typed < facts.at_least:
        raise UsageError(f"{where}: expected at least {facts.at_least:g}, got {typed!r}")
    return typed


def from_text(facts: ParameterFacts, text: str) -> object:
    """The text of a command line as the parameter's type; unchanged where it cannot be."""
    try:
        if facts.type == "int":
            return int(text)
        if facts.type == "float":
            return float(text)
    except ValueError:
        return text
    if facts.type == "bool":
        return {"true": True, "false": False}.get(text.casefold(), text)
    return text


def combined(
    facts: WorkloadFacts,
    from_file: Mapping[str, object],
    overrides: Sequence[Override],
    where: str,
) -> dict[str, tuple[ParameterValue, ...]]:
    """All parameters of a workload, each with the values it takes, in the order it declares them.

    `overrides` win over the study file, which wins over the workload's own defaults. `where` names
    the place in the file.

    Raises:
        UsageError: an unknown parameter, or a value that does not fit.
    """
    known = facts.parameters
    calibrated = {RATE} if facts.served else set()
    values: dict[str, tuple[ParameterValue, ...]]
    values = {name: (facts.default,) for name, facts in known.items()}
    for name, value in from_file.items():
        if name not in known:
            raise unknown("parameter", name, known, where=where)
        place = f"{where}: parameters.{name}"
        values[name] = sweep(known[name], value, place, calibrated=name in calibrated)
    given: dict[str, list[Override]] = {}
    for override in overrides:
        if override.parameter not in known:
            raise unknown("parameter", override.parameter, known, where=override.where)
        given.setdefault(override.parameter, []).append(override)
    for name, several in given.items():
        texts = [text for override in several for text in override.values]
        several_values = [from_text(known[name], text) for text in texts]
        values[name] = sweep(
            known[name], several_values, several[0].where, calibrated=name in calibrated
        )
    return values


# ------------------------------------------------------------------------------------------ caveats
# Warnings that belong to every figure of a study: every output begins with them.

SIMULATED = "Simulated: nothing was measured, every figure follows from a law with noise"


def caveats(study: StudyLine) -> list[str]:
    """That it is simulated, that its amounts are scaled; none for most studies."""
    return [*([SIMULATED] if study.simulated else []), *filter(None, [scaled_to(study.study)])]
