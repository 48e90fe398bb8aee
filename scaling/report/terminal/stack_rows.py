"""The answer of a study of full stacks: their order by the CPU time of a request."""

from collections.abc import Iterator
from textwrap import wrap

from scaling.analysis.results import StudyResults
from scaling.analysis.served.full_stack import (
    cpu_s,
    headline_n,
    in_order,
    stacks,
    with_all_parts,
)
from scaling.analysis.statistics.estimate import bounds_kind
from scaling.base import formats

FIRST, LAST = 6, 2  # stacks, the least CPU time first
MS = 1e3
GAP = "  "


def stack_lines(results: StudyResults, width: int) -> Iterator[str]:
    """The first and the last of the stacks that have all parts; nothing for any other study.

    Where there is little room they have no throughput, or no interval either.
    """
    found = stacks(results.sections)
    workers = headline_n(found)
    order = in_order(with_all_parts(found), workers)
    if not order:
        return
    kind = bounds_kind(cpu_s(point) for _, point in order)
    beside = order[0][0].beside
    around = f", with {formats.listed(beside)}" if beside else ""
    heading = f"ms of CPU time of a request, N = {workers}{around}{f' ({kind})' if kind else ''}"
    yield from wrap(heading, width)
    shown = order if len(order) <= FIRST + LAST else [*order[:FIRST], *order[-LAST:]]
    names = [f"{stack.name} · {stack.configuration}" for stack, _ in shown]
    wide = max(map(len, names))
    costs = [cpu_s(point).scaled(MS, "ms") for _, point in shown]
    intervals = [str(each) for each in costs]
    longest = max(map(len, intervals))
    rates = [f"  {formats.number(point.throughput.point)}/s" for _, point in shown]
    with_rates = [f"{text:<{longest}}{rate}" for text, rate in zip(intervals, rates, strict=True)]
    every = (with_rates, intervals, [formats.number(each.point) for each in costs])
    room = width - wide - len(GAP) * 2
    figures = next((each for each in every if max(map(len, each)) <= room), every[-1])
    for place, (name, figure) in enumerate(zip(names, figures, strict=True)):
        if place == FIRST and len(shown) < len(order):
            more = formats.plural(len(order) - len(shown), "more stack")
            yield f"{GAP}and {more}: see the tables"
        yield f"{GAP}{name:<{wide}}{GAP}{figure}"
