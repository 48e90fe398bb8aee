"""Parameters of workloads: values of a study file or `--set`, checked against `--describe`.

The description document of the child (`ParameterFacts`) is the only source of names, types and
limits; nothing of the workload is imported here.
"""

import math
from collections.abc import Mapping, Sequence

from scaling.base.errors import UsageError
from scaling.base.suggest import unknown
from scaling.journal.record import ParameterFacts, ParameterValue, WorkloadFacts
from scaling.study.definition import Override
from scaling.study.load import CLOSED, RATE, RATE_LEAST, RATE_MOST
from scaling.study.rates import checked_rate

EXPECTED = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
}


def parse_override(text: str) -> Override:
    """Read `workload.parameter=value[,value…]`; the workload's own name may have dots in it.

    Raises:
        UsageError: not of that form.
    """
    target, equals, values = text.partition("=")
    workload, dot, parameter = target.strip().rpartition(".")
    if not (equals and dot and workload and parameter):
        raise UsageError(
            f"--set {text}: expected workload.parameter=value, such as echo.payload_bytes=256,1024"
        )
    return Override(workload, parameter, tuple(value.strip() for value in values.split(",")))


def sweep(
    facts: ParameterFacts, value: object, where: str, *, calibrated: bool = False
) -> tuple[ParameterValue, ...]:
    """The values of one parameter from a study file: one, or the several of a list, each once.

    With `calibrated` it is a rate, and a text is one that a calibration decides.

    Raises:
        UsageError: a value that does not fit, or no value at all.
    """
    several = value if isinstance(value, list) else [value]
    if not several:
        raise UsageError(f"{where}: the list is empty; leave the key out for the default")
    check = _rate if calibrated else checked
    return tuple(dict.fromkeys(check(facts, each, where) for each in several))


def _rate(facts: ParameterFacts, value: object, where: str) -> ParameterValue:
    """A text that a calibration decides, or requests per second; 0 is a closed loop."""
    if isinstance(value, str):
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
        raise unknown("value", str(typed), facts.choices, where=where)
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
