"""What changed since a baseline, for a terminal and for the summary of a CI job."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from scaling.analysis.between_studies import Across
from scaling.analysis.lookup.extent import MINUTE_S
from scaling.analysis.ratios import Ratio
from scaling.analysis.statistics.decision_forecast import POWER
from scaling.analysis.statistics.estimate import bounds_kind
from scaling.analysis.statistics.verdict import Word
from scaling.analysis.statistics.wording import MOST_BLOCKS
from scaling.base import formats
from scaling.report.tables.across_view import value, what
from scaling.report.tables.grid import Cell, Grid, VerdictCell
from scaling.study.questions import CAPACITY

type Changed = Literal["worse", "better", "same", "inconclusive"]

WORDS: tuple[Changed, ...] = ("worse", "better", "same", "inconclusive")
CHANGED: dict[Word, Changed] = {
    "faster": "better",
    "less": "better",
    "slower": "worse",
    "more": "worse",
    "same": "same",
    "inconclusive": "inconclusive",
}


def changes_sentence(found: Sequence[Ratio], shown: Sequence[Ratio]) -> str:
    """`Since OLD, of 6 figures: 1 worse, 4 same, 1 inconclusive.`, and where all are `shown`."""
    counts = Counter(CHANGED[each.verdict.word] for each in found)
    parts = [f"{counts[word]} {word}" for word in WORDS if counts[word]]
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


def changes_grid(of: Across, found: Sequence[Ratio], block_s: float) -> Grid:
    """A row for each figure, those of a cell together; `block_s` is what a block takes, s.

    What would decide a figure is a column where there is something to decide.
    """
    rows = [_row(of, each, block_s) for each in found]
    headings = ["cell", "figure", "OLD → RESULTS", "ratio", "verdict", "to decide"]
    columns = range(len(headings) - (0 if any(str(row[-1]) for row in rows) else 1))
    return Grid("", headings, rows, words=2, grouped=True).columns(columns)


def _name(of: Across, each: Ratio) -> str:
    """The cell, of a capacity with its objective."""
    objective = each.measure.removeprefix(CAPACITY.format(""))
    name = of.now.names[each.of]
    return name if objective == each.measure else f"{name} · {objective}"


def _row(of: Across, each: Ratio, block_s: float) -> list[Cell]:
    then, now = (
        f"{study.blocks.series(cell, each.measure).mark} "
        f"{formats.number(value(study, cell, each.measure).point)}".strip()
        for study, cell in ((of.then, each.over), (of.now, each.of))
    )
    word = CHANGED[each.verdict.word]
    return [
        _name(of, each),
        what(of.now, each.of, each.measure),
        f"{then} → {now}",
        str(each) if each.n else formats.BLANK,
        VerdictCell(word, word),
        VerdictCell("", _to_decide(each, block_s)),
    ]


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
