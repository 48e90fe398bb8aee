"""A study is settled: its names are checked, parameters typed, worker counts chosen.

A settled study says everything in full, so that two ways of asking for the same study give the same
settled one. The journal keeps it, and a resumed study is compared with it.
"""

from collections.abc import Iterable, Mapping

import msgspec

from scaling.base.errors import UsageError
from scaling.base.suggest import unknown
from scaling.base.vocabulary import CountWord
from scaling.journal.record import Description, WorkloadFacts
from scaling.study.definition import ENTRY_LISTS, Study, WorkloadEntry
from scaling.study.parameters import combined
from scaling.study.scaled import scaled


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
