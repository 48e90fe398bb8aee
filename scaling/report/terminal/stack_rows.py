"""The answer of a study of full stacks: their order by the CPU time of a request."""

from collections.abc import Iterator

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


def stack_lines(results: StudyResults) -> Iterator[str]:
    """The first and the last of the stacks that have all parts; nothing for any other study."""
    found = stacks(results.sections)
    workers = headline_n(found)
    order = in_order(with_all_parts(found), workers)
    if not order:
        return
    kind = bounds_kind(cpu_s(point) for _, point in order)
    beside = order[0][0].beside
    around = f", with {formats.listed(beside)}" if beside else ""
    yield f"ms of CPU time of a request, N = {workers}{around}{f' ({kind})' if kind else ''}"
    shown = order if len(order) <= FIRST + LAST else [*order[:FIRST], *order[-LAST:]]
    names = [f"{stack.name} · {stack.configuration}" for stack, _ in shown]
    wide = max(map(len, names))
    for place, (name, (_, point)) in enumerate(zip(names, shown, strict=True)):
        if place == FIRST and len(shown) < len(order):
            yield f"  … {formats.plural(len(order) - len(shown), 'more stack')}: see the tables"
        rate = f"{formats.number(point.throughput.point)} requests/s"
        yield f"  {name:<{wide}}  {cpu_s(point).scaled(MS, 'ms')!s}  {rate}"
