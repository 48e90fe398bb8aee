"""A study is settled: names checked, parameters typed, amounts scaled, worker counts chosen.

A settled study says everything in full, so that two ways of asking for the same study give the same
settled one. The journal keeps it, and a resumed study is compared with it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from scaling.base.errors import UsageError, unknown
from scaling.base.formats import percent
from scaling.base.vocabulary import CountWord
from scaling.builds.runtimes import OWN_LOOP
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
    """Fill in what only the child environments and the machine know.

    `descriptions` has one `--describe` document per arm, by the arm's name; `worker_counts` says
    what the words for numbers of workers mean, of which a study without any has them all. Every
    entry of the result has all its lists, and every parameter a list of the values it takes.

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
    """Numbers of workers, ascending, those that words stand for among them."""
    return tuple(
        sorted({n for each in asked for n in ([each] if isinstance(each, int) else meant[each])})
    )


def settled(
    entry: WorkloadEntry, study: Study, descriptions: Mapping[str, Description]
) -> WorkloadEntry:
    """The entry with all its lists and parameters, those of the study where it has no others.

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
    """A workload's facts, from an arm that can import it if there is one.

    Raises:
        UsageError: no arm knows the workload, or it is a user's own and none can import it.
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
# What `--scale` does: it multiplies the amounts of a workload (operations, tasks, in flight).
#
# The workload says which parameters are amounts (`scaled` in its description). The settled study
# has the amounts that are run, and all output about a scaled study says that it is scaled.

MUCH = 1_000_000  # operations per worker from which a finite run can take a minute
SIMULATED = "Simulated: nothing was measured, every figure follows from a law with noise"


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


def caveats(study: StudyLine) -> list[str]:
    """Warnings that belong to every figure of a study: that it is simulated, that it is scaled.

    Every output begins with them; most studies have none.
    """
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
    """The values of one parameter from a study file: one, or the several of a list, each once.

    Of a parameter with choices `*` stands for all of them, in the order in which it declares them.
    The value may be a rate that a calibration decides, if the parameter `is_rate`.

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
    """A rate as it is, if it is one that a calibration decides."""
    if isinstance(value, str) and facts.default != CLOSED:
        raise UsageError(
            f"{where}: expected a rate per second, got {value!r}: a calibration measures a "
            "closed loop, and this workload has none"
        )
    return checked_rate(value, where) if isinstance(value, str) else value


def kind_of(facts: ParameterFacts) -> Kind:
    """What a parameter may be; where 0 is the default, it may be that whatever its bounds."""
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
    """All parameters of a workload, each with the values it takes, in the order it declares them.

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


# ---------------------------------------------------------------------------------------- pin group
# The group of pins for the environment of a study's children: the smallest that is enough.
#
# A child must not have packages that it does not need: each is one more that may be imported, turn
# the GIL on, or lack a wheel. So the optional loops and libraries, servers of applications, and
# what makes certificates, are only there if a study asks for them.

# What the group "child" has; any other loop is in the group "loops".
LOOPS_OF_ALL = {"asyncio", "uvloop", OWN_LOOP}
# Parameters that ask for a group beside it, and the values that do not.
ASKED_BY: dict[str, tuple[str, frozenset[object]]] = {
    "tls": ("tls", frozenset({"off"})),
    "server": ("serve", frozenset({"tcp", "aiohttp"})),
    "cache": ("cache", frozenset({"dict", "lru_cache"})),
    "miss": ("cache", frozenset({"cpu"})),
}
# And built-in workloads that ask for it whatever their parameters are.
ASKED_BY_NAME = {
    "mix": "serve",
    "web": "stack",
    "gateway": "stack",
    "broadcast": "broadcast",
    "serve-cache": "serve",
    "serve-state": "serve",
}
# Groups and those inside them: what asks for both needs the larger one.
INSIDE = {"stack": "serve", "broadcast": "serve"}


def group_for(study: Study) -> str:
    """The group of pins for the children of a study, before or after it is settled.

    That which is asked for, else `child`; `loops`, which has everything, for two that are not one
    inside the other, or for a loop or library that none of them has.
    """
    loops = {loop for entry in study.workloads for loop in entry.loops or study.loops}
    asked = {
        group
        for parameter, (group, without) in ASKED_BY.items()
        if not without.issuperset(_values(study, parameter))
    }
    asked |= {ASKED_BY_NAME[entry.name] for entry in study.workloads if entry.name in ASKED_BY_NAME}
    asked -= {small for large, small in INSIDE.items() if large in asked}
    if not loops <= LOOPS_OF_ALL or len(asked) > 1:
        return "loops"
    return next(iter(asked), "child")


def _values(study: Study, parameter: str) -> Iterator[object]:
    """All values that a study gives a parameter of that name, whatever workload has it."""
    for entry in study.workloads:
        given = entry.parameters.get(parameter, [])
        yield from given if isinstance(given, list) else [given]
    for override in study.overrides:
        if override.parameter == parameter:
            yield from override.values
