"""Answers as a table: question, ratio, interval, verdict; a line in words where one is needed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from scaling.analysis.statistics.estimate import Estimate
from scaling.analysis.statistics.verdict import RatioVerdict
from scaling.base import formats
from scaling.report.tables.grid import Cell, Grid, VerdictCell

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


def with_bounds(value: Estimate) -> str:
    """`1.88× (1.72–1.91)`."""
    return f"{times(value)} ({value.bounds})" if value.bounds else times(value)


def bounds_heading(values: Iterable[Estimate]) -> str:
    """What stands beside the ratios: `95 % interval` or `range`; of both `bounds`."""
    several = [value for value in values if value.n > 1]
    has_interval = any(value.coverage is not None for value in several)
    has_range = any(value.coverage is None for value in several)
    if has_interval and has_range:
        return "bounds"
    return "95 % interval" if has_interval else "range"


def verdict(value: RatioVerdict) -> VerdictCell:
    """The verdict in words, coloured by its first."""
    return VerdictCell(value.verdict.word, verdict_text(value))


def verdict_text(value: RatioVerdict) -> str:
    """`slower, by 9 to 14 %`, `same, within ±2 % (exploratory)`, `inconclusive, too noisy: …`.

    The words are made in `scaling.analysis.statistics.wording`.
    """
    judged = value.verdict
    exploratory = judged.is_decided and judged.family == "exploratory"
    return f"{judged.text}{' (exploratory)' if exploratory else ''}"


def fitting(value: RatioVerdict, room: int) -> str:
    """As many of the verdict's words as there is room for."""
    judged = value.verdict
    choices = [verdict_text(value), judged.text, briefly(value), judged.word]
    return next((text for text in choices if cell_len(text) <= room), "")


def briefly(value: RatioVerdict) -> str:
    """The word of the verdict, with its reason in few words where it is not decided."""
    judged = value.verdict
    return f"{judged.word}, {judged.reason}" if judged.reason else judged.word


def in_words(value: RatioVerdict) -> str:
    """`1.88× (95 % interval 1.72–1.91)`; what else there is to say of one that is no difference."""
    kind = "95 % interval" if value.coverage is not None else "range"
    bounds = f" ({kind} {value.bounds})" if value.bounds else ""
    doubt = f", {verdict_text(value)}" if not value.verdict.side else ""
    return f"{times(value)}{bounds}{doubt}"
