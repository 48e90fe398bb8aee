"""What a cell loses, in words: its efficiency, the largest loss, and the machine's part in it."""

from typing import NamedTuple

from scaling.analysis.attribution.cells import Attribution, Shared
from scaling.analysis.attribution.terms import BLOCKED, IDLE, Term
from scaling.analysis.statistics.estimate import Estimate
from scaling.analysis.statistics.verdict import reach
from scaling.analysis.table.time_terms import NO_WAITS, POLLS
from scaling.base import formats
from scaling.report.tables.phrases import named, workers
from scaling.study.presets import FEWEST_FOR_INTERVAL

BLOCKED_OR_IDLE = "blocked or idle"
ONE_TERM = (
    "The calls that workers wait in could not be sampled here, so blocked, idle and the rest are "
    "one term."
)
LEGEND = (
    "Time of all workers per operation. Losses are means over blocks and add up; the factors are "
    "geometric means and multiply to the efficiency."
)


class Unit(NamedTuple):
    """The unit of some times, its number in a second, and the decimals that all of them have."""

    name: str
    per_s: float
    decimals: int = 0

    def number(self, value: Estimate) -> str:
        """`4.2`."""
        return formats.fixed(value.point * self.per_s, self.decimals)

    def bounds(self, value: Estimate) -> str:
        """`3.9–4.5`; empty where there is no interval."""
        ends = (value.low * self.per_s, value.high * self.per_s)
        low, high = (formats.fixed(each, self.decimals) for each in ends)
        return formats.span(low, high) if value.bounds else ""

    def text(self, value: Estimate) -> str:
        """`4.2 µs (3.9–4.5)`."""
        bounds = self.bounds(value)
        return f"{self.number(value)} {self.name}{f' ({bounds})' if bounds else ''}"


UNITS = (Unit("ns", 1e9), Unit("µs", 1e6), Unit("ms", 1e3))
LARGEST_IN_UNIT = 10_000.0
DIGITS = 4  # of the longest time: one more than it is known to, so that small terms are seen
MOST_CALLS = 3
SMALLEST_NEXT = 0.1  # of the whole loss: what is named beside the largest


def unit_of(longest_s: float) -> Unit:
    """The finest unit in which the longest time is below 10,000."""
    fits = (unit for unit in UNITS if longest_s * unit.per_s < LARGEST_IN_UNIT)
    unit = next(fits, UNITS[-1])
    before_point = len(f"{longest_s * unit.per_s:.0f}")
    return Unit(unit.name, unit.per_s, max(0, DIGITS - before_point))


def unit_for(each: Attribution) -> Unit:
    """The unit of a cell."""
    return unit_of(max(each.whole.at_one.point, each.whole.at_n.point) if each.whole else 0.0)


def words_of(term: Term, each: Attribution) -> str:
    """What a term is called in a cell."""
    return BLOCKED_OR_IDLE if term is IDLE and each.one_term else term.words


def sentences(each: Attribution) -> list[str]:
    """The sentences of a cell: first how far it is from its ideal, then why."""
    if each.whole is None:
        return [f"Not explained: {each.why}."]
    found = [_rated(each, each.whole.at_one, each.whole.at_n)] if each.is_rated else [_ideal(each)]
    if each.largest is not None:
        found += _largest(each)
    elif each.misses:
        found.append("No single term grew by more than its interval.")
    if each.shared is not None and each.misses:
        found.append(_machine(each, each.shared))
    if each.one_term:
        found.append(ONE_TERM)
    point = each.runs.point(each.of)
    if point is not None and point.suspect:
        which = f"{point.suspect} of {formats.plural(point.runs, 'run')}"
        found.append(f"Suspect: {which} (scaling show --details has the reasons).")
    return found


def _ideal(each: Attribution) -> str:
    """`2 threads on 3.14t do 1.56 times the work of one (efficiency 0.78, 95 % interval …): …`."""
    assert each.whole is not None
    efficiency, n = each.whole.factor, each.workers
    has_interval = efficiency.coverage is not None and efficiency.bounds
    bounds = f", 95 % interval {efficiency.bounds}" if has_interval else ""
    start = (
        f"{named(each.of, loop=True)} do {formats.number(n * efficiency.point)} times the work of "
        f"one (efficiency {formats.number(efficiency.point)}{bounds})"
    )
    margin = f"±{formats.percent(each.margin)}"
    if each.blocks < FEWEST_FOR_INTERVAL:
        return f"{start}; an interval needs {FEWEST_FOR_INTERVAL} blocks, it has {each.blocks}."
    if each.misses:
        unit = unit_for(each)
        return (
            f"{start}: an operation takes {unit.number(each.whole.at_n)} {unit.name} of a worker's "
            f"time, not {unit.number(each.whole.at_one)}."
        )
    if efficiency.low > reach(each.margin)[0]:
        return f"{start}: nothing is lost beyond the margin of {margin}."
    return f"{start}: inconclusive, by a margin of {margin}. More blocks may decide it."


def _rated(each: Attribution, one: Estimate, many: Estimate) -> str:
    unit = unit_for(each)
    return (
        f"{named(each.of, loop=True)} in an open loop: the schedule sets throughput, so there is "
        f"no efficiency; a request takes {unit.number(many)} {unit.name} of worker time, "
        f"{unit.number(one)} at N = 1."
    )


def _largest(each: Attribution) -> list[str]:
    largest = each.largest
    assert largest is not None
    assert each.whole is not None
    unit = unit_for(each)
    share = largest.loss.point / each.whole.loss.point
    part = f"{formats.percent(round(share, 2))} of the loss"
    if share > 1:
        part = "more than the whole loss, because other terms fell"
    words = words_of(largest.term, each)
    cause = f"{BLOCKED.cause}, or {IDLE.cause}" if words == BLOCKED_OR_IDLE else largest.term.cause
    found = [
        f"Largest loss: {words}, {unit.text(largest.loss)} per operation, {part}.",
        f"Possible cause: {cause}.",
    ]
    least_s = SMALLEST_NEXT * each.whole.loss.point
    others = [loss for loss in each.ranked[1:] if loss.loss.point >= least_s]
    if others:
        named_too = (f"{words_of(loss.term, each)}, {unit.text(loss.loss)}" for loss in others)
        found.append(f"Then: {'; '.join(named_too)}.")
    if each.waits and any(loss.term is BLOCKED for loss in (largest, *others)):
        found.append(_calls(each))
    return found


def _calls(each: Attribution) -> str:
    """`The threads were blocked in futex (98 %) and read (2 %).`."""
    calls = {name: share for name, share in each.waits.items() if name not in POLLS | NO_WAITS}
    whole = sum(calls.values())
    ranked = sorted(calls, key=lambda name: calls[name], reverse=True)[:MOST_CALLS]
    shown = [f"{name} ({formats.percent(round(calls[name] / whole, 2))})" for name in ranked]
    return f"The threads were blocked in {formats.listed(shown)}."


def _machine(each: Attribution, shared: Shared) -> str:
    unit = unit_for(each)
    theirs = workers(shared.processes)
    if shared.processes.arm != each.of.arm:
        theirs = f"{named(shared.processes)}, in proportion,"
    return (
        f"The machine's part: {theirs} lose {unit.text(shared.machine)} in the same blocks. "
        f"The cost of sharing a process: {unit.text(shared.sharing)}."
    )
