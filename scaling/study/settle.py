"""Settling a study: names checked, parameters typed, amounts scaled, worker counts chosen.

A settled study has all values in full, so that two ways to ask for one study give the same settled
study. The journal keeps the settled study, and a resumed study is compared with it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from scaling.base.errors import UsageError, unknown
from scaling.base.formats import percent
from scaling.base.vocabulary import CountWord
from scaling.journal.record import (
    Description,
    ParameterFacts,
    ParameterValue,
    StudyLine,
    WorkloadFacts,
)
from scaling.study.definition import ENTRY_LISTS, Override, Study, WorkloadEntry
from scaling.study.kinds import TYPES, Kind, checked_rate
from scaling.study.load import CLOSED, RATE


def settle(
    study: Study,
    descriptions: Mapping[str, Description],
    worker_counts: Mapping[CountWord, tuple[int, ...]],
) -> Study:
    """The study with all values that only the child environments and the machine know.

    `descriptions` has one `--describe` document per arm, by the arm's name. `worker_counts` has the
    numbers of workers that each word stands for; a study without numbers has all of them. Every
    entry of the result has all lists, and every parameter a list of values.

    Raises:
        UsageError: a name that no arm knows, or a parameter that does not fit.
    """
    loops = _union(description.loops for description in descriptions.values())
    study = replace(study, workers=_numbers(study.workers or tuple(worker_counts), worker_counts))
    entries = tuple(
        settled(replace(entry, workers=_numbers(entry.workers, worker_counts)), study, descriptions)
        for entry in study.workloads
    )
    names = [entry.name for entry in entries]
    for override in study.overrides:
        if override.workload not in names:
            raise unknown("workload of this study", override.workload, names, where=override.where)
    for loop in (loop for entry in entries for loop in entry.loops):
        if loop not in loops:
            raise unknown("loop", loop, loops)
    return replace(study, workloads=entries, overrides=(), source="")


def _numbers(
    asked: Iterable[int | CountWord], meant: Mapping[CountWord, tuple[int, ...]]
) -> tuple[int, ...]:
    """Numbers of workers, ascending, with words replaced by numbers."""
    return tuple(
        sorted({n for each in asked for n in ([each] if isinstance(each, int) else meant[each])})
    )


def settled(
    entry: WorkloadEntry, study: Study, descriptions: Mapping[str, Description]
) -> WorkloadEntry:
    """The entry with all lists and parameters; lists that it does not have are the study's.

    Raises:
        UsageError: no arm knows the workload, or a parameter does not fit.
    """
    facts = facts_of(entry.name, descriptions)
    lists = {key: getattr(entry, key) or getattr(study, key) for key in ENTRY_LISTS}
    overrides = [override for override in study.overrides if override.workload == entry.name]
    where = f"{study.source}: workload {entry.name}"
    given = {} if facts.refused else combined(facts, entry.parameters, overrides, where)
    return replace(entry, parameters=scaled(facts, given, study.scale), **lists)


def facts_of(name: str, descriptions: Mapping[str, Description]) -> WorkloadFacts:
    """A workload's facts, preferably from an arm that can import the workload.

    Raises:
        UsageError: no arm knows the workload, or none can import a user's own workload.
    """
    known = _union(description.workloads for description in descriptions.values())
    if name not in known:
        hint = unknown("workload", name, known)
        raise UsageError(f"{hint} Your own is named as package.module:Name.")
    found = [
        description.workloads[name]
        for description in descriptions.values()
        if name in description.workloads
    ]
    facts = next((each for each in found if each.refused is None), found[0])
    if facts.refused is not None and ":" in name:
        raise UsageError(f"workload {name!r} cannot be imported: {facts.refused}")
    return facts


def _union(several: Iterable[Mapping[str, object]]) -> list[str]:
    return list(dict.fromkeys(name for each in several for name in each))


# ------------------------------------------------------------------------------------------- scaled
# `--scale` multiplies the amounts of a workload (operations, tasks, in flight).
#
# The workload's description says which parameters are amounts (`scaled`). The settled study has the
# scaled amounts, and all output about a scaled study says that it is scaled.

MUCH = 1_000_000  # operations per worker from which a finite run can take a minute
SIMULATED = "Simulated: nothing was measured, every figure follows from a law with noise"


def scaled(
    facts: WorkloadFacts, parameters: Mapping[str, Iterable[ParameterValue]], scale: float
) -> dict[str, list[ParameterValue]]:
    """All parameters with their values, the amounts multiplied by `scale`.

    An amount is rounded, and is at least the parameter's minimum, or 1. Values that become equal
    are one value.
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
    """`scaled to 1 %` for a journal's study; empty if it is not scaled."""
    scale = float(study.get("scale") or 1.0)
    return "" if scale == 1 else f"scaled to {percent(scale)}"


def caveats(study: StudyLine) -> list[str]:
    """Warnings shown with every figure: that the study is simulated, that it is scaled."""
    return [*([SIMULATED] if study.simulated else []), *filter(None, [scaled_to(study.study)])]


# --------------------------------------------------------------------------------------- parameters
# Values of a study file or `--set`, checked against `--describe`.
#
# The description document of the child (`ParameterFacts`) is the only source of names, types and
# limits; nothing of the workload is imported here.

EVERY = "*"  # stands for all choices of a parameter that has them
RENAMED = {"gunicorn": "gunicorn-gthread"}  # a server as 1.0 called it, and its name now
PARAMETER_TYPES: Mapping[str, type] = {each.__name__: each for each in TYPES}


def sweep(
    facts: ParameterFacts, value: object, where: str, *, is_rate: bool = False
) -> tuple[ParameterValue, ...]:
    """The values of a parameter in a study file: one value, or a list without duplicates.

    `*` stands for all choices of a parameter that has them. If the parameter `is_rate`, a
    calibration may decide the value.

    Raises:
        UsageError: a value that does not fit, or no value at all.
    """
    several = value if isinstance(value, list) else [value]
    choices = facts.choices or []
    if choices and several == [EVERY]:
        several = choices
    several = [RENAMED.get(str(each), each) if each not in choices else each for each in several]
    kind = replace(kind_of(facts), several=True)
    if is_rate:
        several = [_rate(facts, each, where) for each in several]
        kind = replace(kind, words=[each for each in several if isinstance(each, str)])
    found: tuple[ParameterValue, ...] = kind.check(several, where)
    return found


def _rate(facts: ParameterFacts, value: object, where: str) -> object:
    """A rate: a number, or a text for a rate that a calibration decides."""
    if isinstance(value, str) and facts.default != CLOSED:
        raise UsageError(
            f"{where}: expected a rate per second, got {value!r}: a calibration measures a "
            "closed loop, and this workload has none"
        )
    return checked_rate(value, where) if isinstance(value, str) else value


def kind_of(facts: ParameterFacts) -> Kind:
    """The kind of a parameter's values; a default of 0 is allowed whatever the bounds."""
    return Kind(
        of=PARAMETER_TYPES[facts.type],
        least=facts.at_least,
        most=facts.at_most,
        zero=facts.default == 0,
        known=tuple(facts.choices or ()),
        what="value",
    )


def combined(
    facts: WorkloadFacts,
    from_file: Mapping[str, object],
    overrides: Sequence[Override],
    where: str,
) -> dict[str, tuple[ParameterValue, ...]]:
    """All parameters of a workload with their values, in the order of its declaration.

    `overrides` win over the study file, which wins over the workload's own defaults. `where` names
    the place in the file.

    Raises:
        UsageError: an unknown parameter, or a value that does not fit.
    """
    known = facts.parameters
    given = {name: (value, f"{where}: parameters.{name}") for name, value in from_file.items()}
    for name in given:
        if name not in known:
            raise unknown("parameter", name, known, where=where)
    typed: dict[str, list[object]] = {}
    for override in overrides:
        if override.parameter not in known:
            raise unknown("parameter", override.parameter, known, where=override.where)
        kind = kind_of(known[override.parameter])
        several = typed.setdefault(override.parameter, [])
        several += map(kind.typed, override.values)
        given[override.parameter] = several, override.where
    values: dict[str, tuple[ParameterValue, ...]]
    values = {name: (each.default,) for name, each in known.items()}
    for name, (value, place) in given.items():
        values[name] = sweep(known[name], value, place, is_rate=facts.served and name == RATE)
    return values
