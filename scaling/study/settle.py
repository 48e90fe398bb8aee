"""A study is settled: its names are checked, parameters typed, worker counts chosen.

A settled study says everything in full, so that two ways of asking for the same study give the same
settled one. The journal keeps it, and a resumed study is compared with it.
"""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from scaling.base.errors import UsageError, unknown
from scaling.base.vocabulary import CountWord
from scaling.builds.runtimes.runtime import OWN_LOOP
from scaling.journal.record import Description, WorkloadFacts
from scaling.study.definition import ENTRY_LISTS, Study, WorkloadEntry
from scaling.study.parameters import combined, scaled

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

    `child`; `tls` if a workload's parameter of that name has a value other than `off`; `serve` if
    one has a `server` that is not in `child`, and for workloads that always have one; `stack`,
    which holds `serve`, for `web` and `gateway`; `broadcast`, which holds it, too, for that
    workload; `cache` for caches that are packages, and for misses from a database; `loops`, which
    has everything, for two of these, or for a loop or library that none of them has.
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


# ------------------------------------------------------------------------------------------- settle


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
    of_study = _numbers(study.workers or tuple(worker_counts), worker_counts)
    study = msgspec.structs.replace(study, workers=of_study)
    entries = tuple(
        _settled(
            msgspec.structs.replace(entry, workers=_numbers(entry.workers or (), worker_counts)),
            study,
            descriptions,
        )
        for entry in study.workloads
    )
    names = [entry.name for entry in entries]
    for override in study.overrides:
        if override.workload not in names:
            raise unknown("workload of this study", override.workload, names, where=override.where)
    for entry in entries:
        for loop in entry.loops or ():
            if loop not in loops:
                raise unknown("loop", loop, loops)
    return msgspec.structs.replace(study, workloads=entries, overrides=(), source="")


def _numbers(
    asked: Iterable[int | CountWord], meant: Mapping[CountWord, tuple[int, ...]]
) -> tuple[int, ...]:
    """Numbers of workers, ascending, those that words stand for among them."""
    return tuple(
        sorted({n for each in asked for n in ([each] if isinstance(each, int) else meant[each])})
    )


def _settled(
    entry: WorkloadEntry, study: Study, descriptions: Mapping[str, Description]
) -> WorkloadEntry:
    facts = facts_of(entry.name, descriptions)
    lists = {key: getattr(entry, key) or getattr(study, key) for key in ENTRY_LISTS}
    overrides = [override for override in study.overrides if override.workload == entry.name]
    where = f"{study.source}: workload {entry.name}"
    given = {} if facts.refused else combined(facts, entry.parameters, overrides, where)
    parameters = scaled(facts, given, study.scale)
    return msgspec.structs.replace(entry, parameters=parameters, **lists)


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
