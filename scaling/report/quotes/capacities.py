"""The capacities that a text quotes, of a study with one objective, and their ratios.

    12,800 (12,300–15,500)<!-- slo: capacity workload=serve loop=uvloop arm=3.14t workers=2 -->

A ratio is one of the study's comparison: over processes, or over one worker.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from scaling.analysis.lookup.named_cell import DEFAULTS, changed
from scaling.analysis.served.capacity import Capacities, Capacity
from scaling.analysis.statistics.estimate import Estimate
from scaling.base.errors import UsageError
from scaling.report.quotes.source import QuoteSource

RATIO = "capacity"
OF_A_CAPACITY: dict[str, Callable[[Capacity], Estimate]] = {
    RATIO: lambda found: found.estimate,
    "capacity_per_core": lambda found: found.per_core,
    "capacity_per_gib": lambda found: found.per_gib,
}


def capacity(source: QuoteSource, known: Capacities) -> str:
    """The figure, ratio or verdict that a source asks for.

    Raises:
        UsageError: no capacity or ratio, several, or a capacity that is only a bound.
    """
    of = _named(source.cell, known)
    if source.over is None and not source.form.is_verdict:
        return source.form.text(OF_A_CAPACITY[source.measure](_known(of)))
    over = _named(changed(source.cell, source.over or {}), known)
    pairs = (each.ratio for each in known.ratios if each.of is of and each.over is over)
    ratio = next(pairs, None) if source.measure == RATIO else None
    if ratio is None:
        raise UsageError("the study's comparison has no such ratio of capacities")
    if source.form.is_verdict:
        return ratio.verdict.word
    _known(of)
    _known(over)
    return source.form.text(ratio)


def _known(capacity: Capacity) -> Capacity:
    if capacity.bound:
        raise UsageError(f"a capacity is only a bound ({capacity.text}): quote it by hand")
    return capacity


def _named(cell: Mapping[str, object], known: Capacities) -> Capacity:
    """The one capacity of a cell; fields that are left out are as `scaling.figure` has them."""
    wanted = DEFAULTS | dict(cell)
    found = [each for each in known.every if _fields(each).items() >= _flat(wanted).items()]
    if not known.every:
        raise UsageError("the study has no capacity: it states no objective, or has no rates")
    if len(found) != 1:
        named = " ".join(f"{name}={value}" for name, value in _flat(cell).items())
        raise UsageError(f"the study has {len(found)} capacities with {named}; it must be one")
    return found[0]


def _fields(capacity: Capacity) -> dict[str, Any]:
    subject, configuration = capacity.subject, capacity.configuration
    return _flat(
        {
            "workload": subject.workload,
            "parameters": msgspec.json.decode(subject.parameters),
            "sizing": subject.sizing,
            "loop": subject.loop,
            "arm": configuration.arm,
            "model": configuration.model,
            "workers": configuration.workers,
        }
    )


def _flat(fields: Mapping[str, Any]) -> dict[str, Any]:
    """With each parameter as a field of its own."""
    flat = {name: value for name, value in fields.items() if name != "parameters"}
    return flat | {
        f"parameters.{name}": each for name, each in fields.get("parameters", {}).items()
    }
