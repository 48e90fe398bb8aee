"""What changed since a baseline, for a terminal and for the summary of a CI job."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Literal

from rich.table import Table
from rich.text import Text

from scaling.analysis.between_studies import Across
from scaling.analysis.lookup.extent import MINUTE_S
from scaling.analysis.ratios import Ratio
from scaling.analysis.statistics.decision_forecast import POWER
from scaling.analysis.statistics.estimate import bounds_kind
from scaling.analysis.statistics.verdict import Word
from scaling.analysis.statistics.wording import MOST_BLOCKS
from scaling.base import formats
from scaling.report.tables.across_view import value, what
from scaling.report.tables.fitting import width_of
from scaling.report.tables.pipes import pipe_table, unbroken
from scaling.study.questions import CAPACITY

type Changed = Literal["worse", "better", "same", "inconclusive"]

STYLES: dict[Changed, str] = {
    "worse": "bold red",
    "better": "green",
    "same": "dim",
    "inconclusive": "yellow",
}
CHANGED: dict[Word, Changed] = {
    "faster": "better",
    "less": "better",
    "slower": "worse",
    "more": "worse",
    "same": "same",
    "inconclusive": "inconclusive",
}
HEADINGS = ("", "OLD → RESULTS", "ratio", "verdict", "to decide")  # the last of what is not decided
FIGURES = (1, 2)  # the places of columns that are aligned right
VERDICT = 3  # the place of the verdict


def changes_sentence(found: Sequence[Ratio], shown: Sequence[Ratio]) -> str:
    """`Since OLD, of 6 figures: 1 worse, 4 same, 1 inconclusive.`, and where all are `shown`."""
    counts = Counter(CHANGED[each.verdict.word] for each in found)
    parts = [f"{counts[word]} {word}" for word in STYLES if counts[word]]
    where = " --details lists all of them." if len(shown) < len(found) else ""
    return f"Since OLD, of {formats.plural(len(found), 'figure')}: {', '.join(parts)}.{where}"


def changes_notes(found: Sequence[Ratio]) -> list[str]:
    """What verdicts and forecasts rest on."""
    margins = sorted({each.verdict.margin for each in found if each.n})
    kind = bounds_kind(found)
    lines = [f"With each ratio its {kind}, unpaired."] if kind else []
    if margins:
        ends = dict.fromkeys(f"±{formats.percent(margin)}" for margin in (margins[0], margins[-1]))
        lines.append(
            f"better, worse: proven to differ by more than {' to '.join(ends)}; "
            "same: proven to differ by less."
        )
    if any(math.isfinite(each.verdict.blocks or math.inf) for each in found):
        lines.append(
            f"To decide: with about so many blocks in each study a verdict has a chance of "
            f"{formats.percent(POWER)}, if ratio and scatter stay as they are; minutes are those "
            "of a whole study."
        )
    return lines


def changes_lines(of: Across, found: Sequence[Ratio], block_s: float) -> Iterator[Text | Table]:
    """A line for each figure under the name of its cell; `block_s` is what a block takes, s."""
    headings, rows = _body(of, found, block_s)
    if not rows:
        return
    widths = [width_of(map(str, column)) for column in zip(headings, *rows, strict=True)]
    yield _table(widths, [[Text(heading, "bold") for heading in headings]])
    lines = zip(found, rows, strict=True)
    for name, group in groupby(lines, key=lambda each: _name(of, each[0])):
        yield Text(name)
        yield _table(widths, [_styled(change, row) for change, row in group])


def changes_markdown(of: Across, found: Sequence[Ratio], block_s: float) -> str:
    """The same as a Markdown table; empty without a figure."""
    if not found:
        return ""
    headings, rows = _body(of, found, block_s)
    named = [
        [unbroken(text) for text in (_name(of, each), *row)]
        for each, row in zip(found, rows, strict=True)
    ]
    return pipe_table(["cell", *headings], named, {1 + place for place in FIGURES})


def _name(of: Across, each: Ratio) -> str:
    """The cell, of a capacity with its objective."""
    objective = each.measure.removeprefix(CAPACITY.format(""))
    name = of.now.names[each.of]
    return name if objective == each.measure else f"{name} · {objective}"


def _body(
    of: Across, found: Sequence[Ratio], block_s: float
) -> tuple[Sequence[str], list[list[str]]]:
    """The headings and a row for each figure; `to decide` only where there is something to."""
    rows = [_row(of, each, block_s) for each in found]
    if any(row[-1] for row in rows):
        return HEADINGS, rows
    return HEADINGS[:-1], [row[:-1] for row in rows]


def _table(widths: Sequence[int], rows: list[list[Text]]) -> Table:
    """Every column but the last is as wide as its widest cell in the whole table."""
    table = Table(box=None, show_header=False, padding=(0, 0, 0, 2), pad_edge=True)
    *fixed, _ = widths
    for place, width in enumerate(fixed):
        table.add_column(justify="right" if place in FIGURES else "left", width=width, no_wrap=True)
    table.add_column(overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def _row(of: Across, each: Ratio, block_s: float) -> list[str]:
    then, now = (
        f"{study.blocks.series(cell, each.measure).mark} "
        f"{formats.number(value(study, cell, each.measure).point)}".strip()
        for study, cell in ((of.then, each.over), (of.now, each.of))
    )
    return [
        what(of.now, each.of, each.measure),
        f"{then} → {now}",
        str(each) if each.n else formats.BLANK,
        CHANGED[each.verdict.word],
        _to_decide(each, block_s),
    ]


def _styled(each: Ratio, row: list[str]) -> list[Text]:
    cells = [*map(Text, row)]
    cells[VERDICT].stylize(STYLES[CHANGED[each.verdict.word]])
    for to_decide in cells[VERDICT + 1 :]:
        to_decide.stylize("dim")
    return cells


def _to_decide(each: Ratio, block_s: float) -> str:
    """`40 blocks, 12 min`; or why no number of blocks is known."""
    verdict, blocks = each.verdict, each.verdict.blocks
    if verdict.is_decided:
        return ""
    if blocks is None or not math.isfinite(blocks):
        return verdict.why
    if blocks > MOST_BLOCKS:
        return f"over {MOST_BLOCKS:,} blocks"
    minutes = math.ceil(blocks * block_s / MINUTE_S)
    took = formats.duration(minutes * MINUTE_S).removesuffix(" 00 s")
    return f"{blocks:,.0f} blocks, {took}"
