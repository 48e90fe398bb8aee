"""The ratios of an answer as lines: workload and loop, N, ratio with interval, verdict."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

from scaling.analysis.statistics.verdict import RatioVerdict, place
from scaling.base import formats
from scaling.report.tables.findings import bounds_heading, times, verdict_text
from scaling.report.tables.headline import Headline, Other
from scaling.report.tables.phrases import builds_of

MOST_ROWS = 12
BETWEEN = " · "  # the parts of a name
SHORTEST, LONGEST = len("inconclusive"), len("inconclusive: noise ±10.5 %")  # verdicts


class Row(NamedTuple):
    """One ratio. `group` is its heading, `n` the N that it is at; both may be empty.

    `measure` is what it is a ratio of, empty where the group says so. `label` is the workload with
    its parameters where the name does not have them.
    """

    group: str
    name: str
    n: str
    value: RatioVerdict
    is_headline: bool = True
    measure: str = "throughput"
    label: str = ""

    @property
    def whole(self) -> str:
        """The name with everything."""
        return f"{self.label}: {self.name}" if self.label else self.name

    @property
    def ratio(self) -> str:
        """`1.88× (1.72–1.91)`."""
        bounds = f" ({self.value.bounds})" if self.value.bounds else ""
        return f"{times(self.value)}{bounds}"


class Named(NamedTuple):
    """A row with its name as it is printed, and what it stands under, often nothing."""

    under: str
    name: str
    row: Row


def ratio_lines(found: Sequence[Headline], others: Sequence[Other], width: int) -> Iterator[str]:
    """A line for each ratio under the headings of their groups; of too many the headline ones."""
    rows = [*_gains(found), *_processes(found)] or [
        Row("", each.question, "", each.ratio, label=each.label) for each in others
    ]
    if len(rows) > MOST_ROWS:
        rows = [row for row in rows if row.is_headline]
    ns = max(cell_len(f"{row.n}  ") if row.n else 0 for row in rows)
    ratios = max(cell_len(row.ratio) for row in rows)
    longest = max(8, width - ns - ratios - 6 - (LONGEST if found else SHORTEST))
    shared, named = "", [Named("", row.whole, row) for row in rows]
    if max(cell_len(each.name) for each in named) > longest:
        shared, named = _shortened(rows)
    shown = _that_fit(named)
    names = min(longest, max(cell_len(each.name) for each in shown))
    kind = bounds_heading(each.row.value for each in shown)
    if shared:
        yield f"{shared}:"
    for (group, measure), members in groupby(
        shown, key=lambda each: (each.row.group, each.row.measure)
    ):
        of = f" of {measure}" if measure else ""
        yield f"{group} (ratio{of}, {kind})" if group else f"Ratios{of} ({kind})"
        for under, several in groupby(members, key=lambda each: each.under):
            if under:
                yield f" {under}"
            for each in several:
                row = each.row
                line = f"  {_fitted(each.name, names)}  {row.n:<{ns}}{row.ratio:<{ratios}}  "
                yield line + _verdict(row.value, width - cell_len(line))
    if left := len(named) - len(shown):
        yield f"  and {formats.plural(left, 'more ratio')}: see the tables"


def _shortened(rows: Sequence[Row]) -> tuple[str, list[Named]]:
    """What all rows are of, and their names without it; those of a label stand under it."""
    parts = [(row.label or row.name).split(BETWEEN) for row in rows]
    shared = [part for part in parts[0] if all(part in each for each in parts)]
    if len(rows) == 1:
        shared = []
    rest = [
        BETWEEN.join(part for part in each if part not in shared) or BETWEEN.join(each)
        for each in parts
    ]
    named = [
        Named(own, row.name.partition(" (")[0], row) if row.label else Named("", own, row)
        for own, row in zip(rest, rows, strict=True)
    ]
    return BETWEEN.join(shared), named


def _that_fit(named: Sequence[Named]) -> list[Named]:
    """The first of them, as many as fit with what they stand under."""

    def lines(some: Sequence[Named]) -> int:
        return len(some) + len({each.under for each in some if each.under})

    most = len(named)
    while most > 1 and lines(named[:most]) + (most < len(named)) > MOST_ROWS:
        most -= 1
    return list(named[:most])


def _fitted(name: str, room: int) -> str:
    """The name in so many characters; of a long one its beginning and its end."""
    if cell_len(name) <= room:
        return set_cell_size(name, room)
    head = room // 3
    tail = next(name[at:] for at in range(len(name)) if cell_len(name[at:]) < room - head)
    return set_cell_size(f"{set_cell_size(name, head)}…{tail}", room)


def _gains(found: Sequence[Headline]) -> Iterator[Row]:
    """Of each curve that the answer is about, at every N."""
    models = dict.fromkeys(gain.of.model for each in found for gain in each.gains)
    arms = dict.fromkeys(gain.of.arm for each in found for gain in each.gains)
    group = f"N {' or '.join(models)} over one" + (
        f", {' or '.join(arms)}" if len(arms) == 1 else ""
    )
    for each in found:
        for top in each.gains:
            varies = [top.of.arm] * (len(arms) > 1) + [top.of.model] * (len(models) > 1)
            name = " · ".join([each.name, *varies])
            for gain in each.compared.gains:
                if gain.key == top.key:
                    yield Row(group, name, str(gain.workers), gain.throughput, gain is top)


def _processes(found: Sequence[Headline]) -> Iterator[Row]:
    """Over the fastest processes. The tables say whether these were fresh or forked."""
    on = builds_of(ratio.theirs for each in found for ratio in each.processes)
    for each in found:
        for ratio in each.processes:
            group = f"N {ratio.ours.model} over N processes on {on}"
            yield Row(group, each.name, str(ratio.workers), ratio.throughput)
    for each in found:
        for ratio in each.processes if each.is_served else ():
            group = f"CPU time per request, N {ratio.ours.model} over N processes"
            n, cpu = str(ratio.workers), ratio.cpu_s_per_op
            yield Row(group, each.name, n, cpu, measure="")


def _verdict(value: RatioVerdict, room: int) -> str:
    """The verdict with its reason, as much of it as there is room for."""
    word, margin = value.verdict.word, value.verdict.margin
    short = {
        "outside": f"{word} after correction",
        "inside": f"{word}: noise ±{formats.percent(margin)}",
        "across": f"{word}: wide interval",
    }[place(value, margin)]
    choices = [verdict_text(value), *([] if value.verdict.is_decided else [short]), word]
    return next((text for text in choices if cell_len(text) <= room), "")
