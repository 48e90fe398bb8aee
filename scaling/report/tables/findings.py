"""Answers as a table: question, ratio, interval, verdict; a line in words where one is needed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scaling.analysis.statistics.estimate import Estimate
from scaling.analysis.statistics.verdict import RatioVerdict
from scaling.base import formats
from scaling.report.tables.grid import Cell, Grid, VerdictCell
from scaling.study.presets import FEWEST_FOR_INTERVAL

VERDICT = "verdict"


@dataclass(frozen=True, slots=True)
class Finding:
    """One ratio with the question that it answers; `note` is what must be said besides."""

    question: str
    ratio: RatioVerdict
    note: str = ""

    @property
    def is_throughput(self) -> bool:
        """Whether it stands alone; what belongs to the row above begins with `…`."""
        return not self.question.startswith("…")


def findings_table(found: Sequence[Finding], title: str = "", notes: Iterable[str] = ()) -> Grid:
    """The table of some findings; their own notes come first below it, then `notes`."""
    known = [each for each in found if each.ratio.n]
    rows: list[list[Cell]] = [
        [each.question, times(each.ratio), each.ratio.bounds or formats.BLANK, verdict(each.ratio)]
        for each in known
    ]
    headings = ["question", "ratio", bounds_heading(each.ratio for each in known), VERDICT]
    said = [*(each.note for each in known), *notes]
    return Grid(title, headings, rows, note="\n".join(filter(None, said)))


def times(value: Estimate) -> str:
    """`1.88×`."""
    return f"{formats.number(value.point)}×"


def bounds_heading(values: Iterable[Estimate]) -> str:
    """What stands beside the ratios: `95 % interval` or `range`; of both `bounds`."""
    several = [value for value in values if value.n > 1]
    has_interval = any(value.coverage is not None for value in several)
    has_range = any(value.coverage is None for value in several)
    if has_interval and has_range:
        return "bounds"
    return "95 % interval" if has_interval else "range"


def verdict(value: RatioVerdict) -> VerdictCell:
    """`faster`, `same within ±2 %`, `slower (exploratory)`, `inconclusive: …`."""
    judged = value.verdict
    return VerdictCell(judged.word, verdict_text(value))


def verdict_text(value: RatioVerdict) -> str:
    """The verdict with its reason, and whether it is exploratory."""
    judged = value.verdict
    if value.coverage is None:
        return f"inconclusive: needs {FEWEST_FOR_INTERVAL} blocks, has {value.n}"
    if not judged.is_decided:
        return f"inconclusive: {judged.why}" if judged.why else "inconclusive"
    margin = f" within ±{formats.percent(judged.margin)}" if judged.word == "same" else ""
    exploratory = " (exploratory)" if judged.family == "exploratory" else ""
    return f"{judged.word}{margin}{exploratory}"


def in_words(value: RatioVerdict) -> str:
    """`1.88× (95 % interval 1.72–1.91)`, `0.958× (0.9–1), inconclusive: needs 6 blocks, has 5`."""
    kind = "95 % interval" if value.coverage is not None else "range"
    bounds = f" ({kind} {value.bounds})" if value.bounds else ""
    doubt = f", {verdict_text(value)}" if value.verdict.word in ("inconclusive", "same") else ""
    return f"{times(value)}{bounds}{doubt}"
