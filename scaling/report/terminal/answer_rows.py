"""The ratios of an answer as lines: workload and loop, N, ratio with interval, verdict."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

from scaling.analysis.statistics.verdict import RatioVerdict
from scaling.base import formats
from scaling.base.vocabulary import WORKERS
from scaling.report.tables.findings import bounds_heading, times, verdict_text
from scaling.report.tables.headline import Headline, Other

MOST_ROWS = 12
SHORTEST, LONGEST = len("inconclusive"), len("inconclusive: noise ±10.5 %")  # verdicts


class Row(NamedTuple):
    """One ratio. `group` is its heading, `n` the N that it is at; both may be empty.

    `measure` is what it is a ratio of, empty where the group says so.
    """

    group: str
    name: str
    n: str
    value: RatioVerdict
    is_headline: bool = True
    measure: str = "throughput"

    @property
    def ratio(self) -> str:
        """`1.88× (1.72–1.91)`."""
        bounds = f" ({self.value.bounds})" if self.value.bounds else ""
        return f"{times(self.value)}{bounds}"


def ratio_lines(found: Sequence[Headline], others: Sequence[Other], width: int) -> Iterator[str]:
    """A line for each ratio under the headings of their groups; of too many the headline ones."""
    rows = [*_gains(found), *_processes(found)] or [Row("", *each) for each in others]
    if len(rows) > MOST_ROWS:
        rows = [row for row in rows if row.is_headline]
    shown = rows if len(rows) <= MOST_ROWS else rows[: MOST_ROWS - 1]
    ns = max(cell_len(row.n) for row in shown)
    ratios = max(cell_len(row.ratio) for row in shown)
    longest = max(8, width - ns - ratios - 8 - (LONGEST if found else SHORTEST))
    names = min(longest, max(cell_len(row.name) for row in shown))
    kind = bounds_heading(row.value for row in shown)
    for (group, measure), members in groupby(shown, key=lambda row: (row.group, row.measure)):
        of = f" of {measure}" if measure else ""
        yield f"{group or 'Ratios'} (ratio{of}, {kind})"
        for row in members:
            line = f"  {_fitted(row.name, names)}  {row.n:<{ns}}  {row.ratio:<{ratios}}  "
            yield line + _verdict(row.value, width - cell_len(line))
    if left := len(rows) - len(shown):
        yield f"  and {formats.plural(left, 'more ratio')}: see the tables"


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
    for each in found:
        for ratio in each.processes:
            theirs = WORKERS.get(ratio.theirs.model, ratio.theirs.model)
            group = f"N {ratio.ours.model} over N {theirs} with the GIL"
            yield Row(group, each.name, str(ratio.workers), ratio.throughput)
    for each in found:
        for ratio in each.processes if each.is_served else ():
            group = f"CPU time per request, N {ratio.ours.model} over N {ratio.theirs.model}"
            n, cpu = str(ratio.workers), ratio.cpu_s_per_op
            yield Row(group, each.name, n, cpu, measure="")


def _verdict(value: RatioVerdict, room: int) -> str:
    """The verdict with its reason, as much of it as there is room for."""
    word, margin = value.verdict.word, value.verdict.margin
    if value.low > 1 + margin or value.high < 1 - margin:
        short = f"{word} after correction"
    elif 1 - margin <= value.low and value.high <= 1 + margin:
        short = f"{word}: noise ±{formats.percent(margin)}"
    else:
        short = f"{word}: wide interval"
    choices = [verdict_text(value), *([short] if word == "inconclusive" else []), word]
    return next((text for text in choices if cell_len(text) <= room), "")
