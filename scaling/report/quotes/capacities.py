"""The capacities that a text quotes, of a study with one objective, and their ratios.

    12,800 (12,300–15,500)<!-- slo: capacity workload=serve loop=uvloop arm=3.14t workers=2 -->

A ratio is one of the study's comparison: over processes, or over one worker.
"""

from collections.abc import Callable, Mapping

from scaling.analysis.lookup.named_cell import NamedCell, changed, named
from scaling.analysis.results import StudyResults
from scaling.analysis.served.capacity import Capacity
from scaling.analysis.statistics.estimate import Estimate
from scaling.base.errors import UsageError
from scaling.report.quotes.source import PARAMETER, QuoteSource
from scaling.study.questions import CAPACITY

RATIO = "capacity"
OF_A_CAPACITY: dict[str, Callable[[Capacity], Estimate]] = {
    RATIO: lambda found: found.estimate,
    "capacity_per_core": lambda found: found.per_core,
    "capacity_per_gib": lambda found: found.per_gib,
}


def capacity(source: QuoteSource, known: StudyResults) -> str:
    """The figure, ratio or verdict that a source asks for.

    Raises:
        UsageError: no capacity or ratio, several, or a capacity that is only a bound.
    """
    of = _named(source.cell, known)
    if source.over is None and not source.form.is_verdict:
        return source.form.text(OF_A_CAPACITY[source.measure](_known(of)))
    over = _named(changed(source.cell, source.over or {}), known)
    measure = CAPACITY.format(of.objective.text)
    pairs = known.ratios.where(
        measure=measure, keep=lambda each: (each.of, each.over) == (of.cell, over.cell)
    )
    if not source.form.is_verdict:
        _known(of)
        _known(over)
    ratio = next(iter(pairs), None) if source.measure == RATIO else None
    if ratio is None:
        raise UsageError("the study's comparison has no such ratio of capacities")
    return ratio.verdict.word if source.form.is_verdict else source.form.text(ratio)


def _known(capacity: Capacity) -> Capacity:
    if capacity.bound:
        raise UsageError(f"a capacity is only a bound ({capacity.text}): quote it by hand")
    return capacity


def _named(cell: Mapping[str, object], known: StudyResults) -> Capacity:
    """The one capacity of a cell; fields that are left out are as `scaling.figure` has them."""
    if not known.capacities:
        raise UsageError("the study has no capacity: it states no objective, or has no rates")
    wanted = named(cell)
    found = [each for each in known.capacities if not wanted.build_differences(_cell_of(each))]
    if len(found) != 1:
        parameters = {f"{PARAMETER}{name}": value for name, value in wanted.parameters.items()}
        given = {name: value for name, value in cell.items() if name != "parameters"} | parameters
        words = " ".join(f"{name}={value}" for name, value in given.items())
        raise UsageError(f"the study has {len(found)} capacities with {words}; it must be one")
    return found[0]


def _cell_of(capacity: Capacity) -> NamedCell:
    cell = capacity.cell
    return NamedCell(
        workload=cell.workload,
        arm=cell.arm,
        loop=cell.loop,
        model=cell.model,
        sizing=cell.sizing,
        workers=cell.workers,
        parameters=cell.parameters,
    )
