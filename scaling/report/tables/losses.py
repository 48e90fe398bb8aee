"""What cells lose against N = 1, as tables and in words: term by term, and function by function."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import pandas as pd

from scaling.analysis.losses import BLOCKED, IDLE, TERMS, Attribution, Loss, Shared, Term
from scaling.analysis.results import StudyResults
from scaling.analysis.statistics.estimate import NO_VALUE, Estimate, bounds_kind
from scaling.analysis.statistics.verdict import reach
from scaling.analysis.table.stacks import NS_PER_S
from scaling.analysis.table.time_terms import NO_WAITS, POLLS
from scaling.base import formats
from scaling.journal.record import Parameters
from scaling.report.tables.findings import named, workers
from scaling.report.tables.grid import Cell, Chapter, Grid
from scaling.report.tables.measures import estimate_columns, study_columns
from scaling.study.presets import FEWEST_FOR_INTERVAL

# ----------------------------------------------------------------------------------- loss sentences
# What a cell loses, in words: its efficiency, the largest loss, and the machine's part in it.

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


# ------------------------------------------------------------------------------------------- losses

TITLE = "What is lost"
ON_CPU, OFF_CPU = TERMS[:3], TERMS[3:]
SMALLEST_SHOWN = 0.01  # of all time: CPU time of other threads


def terms_grid(each: Attribution) -> Grid:
    """A row for each term of a cell, and their sum: at N = 1, at N, the loss, and the factor."""
    assert each.whole is not None
    unit = unit_for(each)
    rows = [_row(words_of(loss.term, each), loss, unit) for loss in each.losses if loss.at_n.n]
    rows.append(_row("all", each.whole, unit))
    notes = [f"In {unit.name} per operation, means with {bounds_kind([each.whole.loss])}."]
    if each.blocks == 1:
        notes = [f"In {unit.name} per operation, of a single block."]
    others = each.other_threads
    if others and others.at_n.point > SMALLEST_SHOWN * each.whole.at_n.point:
        rows.append(_row("other threads", others, unit))
        notes.append("Other threads run no loop; their CPU time is in no sum.")
    headings = [f"{unit.name} per operation", "N = 1", f"N = {each.workers}", "loss", "factor"]
    return Grid("", headings, rows, note=" ".join(notes))


def _row(words: str, loss: Loss, unit: Unit) -> list[Cell]:
    in_unit = [
        "\n".join(filter(None, (unit.number(each), unit.bounds(each))))
        for each in (loss.at_one, loss.at_n, loss.loss)
    ]
    return [words, *in_unit, _known(loss.factor)]


def _known(value: Estimate) -> Cell:
    return value if value.n else formats.BLANK


def losses_grids(some: Iterable[Attribution]) -> list[Grid]:
    """Two tables with a row for each cell of one section and loop: what is lost on CPU, and off it.

    One table would be wider than a page.
    """
    known = [(each, each.whole) for each in some if each.whole is not None]
    if not known:
        return []
    unit = unit_of(max(max(whole.at_one.point, whole.at_n.point) for _, whole in known))
    kind = bounds_kind(whole.loss for _, whole in known)
    note = f"In {unit.name} per operation, means with {kind or 'no interval'}."
    largest = "Largest: of a cell that misses its ideal by more than the noise."
    notes = [note, largest, *([ONE_TERM] if any(each.one_term for each, _ in known) else [])]

    def cells(each: Attribution, terms: Iterable[Term]) -> list[Cell]:
        return [
            _known(loss.loss.scaled(unit.per_s, unit.name))
            for loss in each.losses
            if loss.term in terms
        ]

    on, off = [], []
    for each, whole in known:
        totals = (value.scaled(unit.per_s, unit.name) for value in (whole.at_one, whole.loss))
        of_whole = [_known(whole.factor), *map(_known, totals)]
        name = f"{each.of.arm} · {each.of.model} · N = {each.workers}"
        on.append([name, *of_whole, *cells(each, ON_CPU)])
        first = words_of(each.largest.term, each) if each.largest else formats.BLANK
        off.append([name, *cells(each, OFF_CPU), first])
    lost = ["cell", "efficiency", f"N = 1, {unit.name}", "loss"]
    return [
        Grid("Lost on CPU", [*lost, *(term.words for term in ON_CPU)], on, note=note),
        Grid(
            "Lost off the CPU",
            ["cell", *(term.words for term in OFF_CPU), "largest"],
            off,
            note="\n".join(notes),
        ),
    ]


def loss_chapters(results: StudyResults) -> list[Chapter]:
    """A chapter for each section and loop: a sentence or more for each cell that misses its ideal,
    and the table; none of a study without readings.
    """
    chapters = []
    for title, group in groupby(results.attributions, lambda each: each.runs.title):
        members = list(group)
        words = [*told(members), LEGEND]
        chapters.append(Chapter(f"{TITLE}: {title}", words, losses_grids(members)))
    return [each for each in chapters if each.grids]


def told(some: Sequence[Attribution]) -> list[str]:
    """The sentences of the cells that miss their ideal, each cell's as one."""
    return [" ".join(sentences(each)) for each in some if each.misses]


# ---------------------------------------------------------------------------------------- loss rows
# What each cell loses as rows for other programs: one term a row.


def loss_rows(results: StudyResults) -> pd.DataFrame:
    """One row for each term of each cell at N > 1 with readings, from `StudyResults`.

    Columns: the cell (`study`, `workload`, `parameters`, `sizing`, `loop`, `arm`, `model`,
    `workers`); the `term`, of which `all` is the sum; `at_1_ns`, `at_n_ns` and `loss_ns` per
    operation, the `factor` of the efficiency (that of `all` is the efficiency), each with its
    bounds; `is_largest`, whether it is the largest loss beyond the margin; `one_term`, whether
    blocked, idle and the rest could not be separated; of the whole cell `machine_ns`, what as many
    processes lose, and `sharing_ns`, what is lost beyond it; `controls` and `scale` of the study.
    """
    about = study_columns(results)
    return pd.DataFrame(
        [row | about for each in results.attributions for row in _rows(each)],
    )


def _rows(each: Attribution) -> Iterator[dict[str, object]]:
    key = each.runs.curves[0].key
    cell = {
        "study": each.runs.curves[0].study,
        "workload": key.workload,
        "parameters": Parameters.of(key.parameters).text,
        "sizing": key.sizing,
        "loop": each.runs.loop,
        "arm": each.of.arm,
        "model": each.of.model,
        "workers": each.workers,
    }
    about = {"one_term": each.one_term} | _shared(each)
    for loss in each.losses:
        yield (
            cell
            | {"term": loss.term.name}
            | _figures(loss, is_largest=loss is each.largest)
            | about
        )
    if each.whole is not None:
        yield cell | {"term": "all"} | _figures(each.whole, is_largest=False) | about


def _figures(loss: Loss, *, is_largest: bool) -> dict[str, object]:
    return {
        **_in_ns("at_1_ns", loss.at_one),
        **_in_ns("at_n_ns", loss.at_n),
        **_in_ns("loss_ns", loss.loss),
        **estimate_columns("factor", loss.factor),
        "is_largest": is_largest,
    }


def _shared(each: Attribution) -> dict[str, object]:
    shared = each.shared
    machine, sharing = (shared.machine, shared.sharing) if shared else (NO_VALUE, NO_VALUE)
    return _in_ns("machine_ns", machine) | _in_ns("sharing_ns", sharing)


def _in_ns(name: str, value: Estimate) -> dict[str, object]:
    return estimate_columns(name, value.scaled(NS_PER_S, "ns"))
