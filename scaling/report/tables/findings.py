"""What a comparison found: the phrases it is said in, its answers, and the tables of a question."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from scaling.analysis.comparison import Compared
from scaling.analysis.ratios import Ratio, Ratios
from scaling.analysis.statistics.estimate import Estimate, bounds_kind
from scaling.analysis.statistics.verdict import RatioVerdict
from scaling.analysis.table.columns import MEASURES
from scaling.analysis.table.run_fields import readable
from scaling.base import formats
from scaling.base.vocabulary import WORKER, WORKERS
from scaling.builds.arms import build_of
from scaling.journal.record import Cell as CellOfStudy
from scaling.report.tables.grid import Cell, Grid, PagePart, VerdictCell
from scaling.study.questions import CPU, MEMORY, P99, THROUGHPUT

# ------------------------------------------------------------------------------------------ phrases
# Phrases that titles, questions and notes are made of.

# What is wrong with a run (`scaling.analysis.validity`) for readers who do not know our words; what
# reads well without its hyphens is not here.
REASONS = {
    "mixed-allocator-state": "malloc in another state than in most runs",
    "not-all-busy": "workers were not busy together",
    "gil-flipped": "the GIL was turned on",
    "settings-lost": "settings were not in effect",
    "throttled": "held back by a CPU quota",
    "machine-busy": "other load on the machine",
    "slices-short": "turns were too short for the loops",
    "garbled": "the record is incomplete",
    "generator-late": "the load generator was late",
    "generator-busy": "the load generator was at its limit",
    "generator-misplaced": "the load generator was on a worker's CPU",
    "load-errors": "requests failed",
}


def reasons_text(words: str) -> str:
    """`requests failed, timed out` of `load-errors, timed-out`."""
    return ", ".join(REASONS.get(word) or word.replace("-", " ") for word in words.split(", "))


def ratios_note(values: Sequence[Estimate], made: str = "ratios paired inside blocks") -> str:
    """What stands beside the figures of a section, and how its ratios were made."""
    kind = bounds_kind(values)
    if not kind:
        return "Single runs: their spread is not known."
    few = [value.coverage is None for value in values if value.n]
    if not any(few):
        return f"Medians with {kind}, {made}."
    single = " Without bounds: a single run." if any(value.n == 1 for value in values) else ""
    if all(few):
        return f"Medians with {kind}, {made}: too few for a verdict.{single}"
    return (
        f"Medians with {kind}, {made}. Where it is a range, runs are too few for a verdict.{single}"
    )


def named(of: CellOfStudy, *, loop: bool = False) -> str:
    """`2 threads on 3.14t`; with its loop `2 threads on 3.14t with uvloop`."""
    return f"{workers(of)} on {of.arm}{f' with {of.loop}' if loop else ''}"


def builds_of(some: Iterable[CellOfStudy]) -> str:
    """`3.14`, of 3.14 and 3.14+mimalloc; `3.14 or 3.14t`."""
    return " or ".join(sorted({build_of(of.arm) for of in some}))


def workers(of: CellOfStudy) -> str:
    """`1 thread`, `2 processes`."""
    noun = worker_noun(of.model) if of.workers == 1 else WORKERS.get(of.model, of.model)
    return f"{of.workers} {noun}"


def worker_noun(model: str) -> str:
    """`thread`, `process`."""
    return WORKER.get(model, "worker")


def arm_and_model(of: CellOfStudy) -> str:
    """`3.14t threads`."""
    return f"{of.arm} {of.model}"


def stacked(of: CellOfStudy) -> str:
    """Arm above model, for a narrow column."""
    return f"{of.arm}\n{of.model}"


# ----------------------------------------------------------------------------------------- findings

VERDICT = "verdict"


@dataclass(frozen=True, slots=True)
class Finding:
    """One ratio with the question that it answers; `note` is what must be said besides.

    `label` is the workload with its parameters, where the question does not name it.
    """

    question: str
    ratio: RatioVerdict
    note: str = ""
    label: str = ""

    @property
    def name(self) -> str:
        """The question with what it is about."""
        return f"{self.label}: {self.question}" if self.label else self.question

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

    The words are made in `scaling.analysis.statistics.verdict`.
    """
    judged = value.verdict
    exploratory = judged.is_decided and judged.family == "exploratory"
    return f"{judged.text}{' (exploratory)' if exploratory else ''}"


def fitting(value: RatioVerdict, room: int) -> str:
    """As many of the verdict's words as there is room for."""
    judged = value.verdict
    return first_fitting([verdict_text(value), judged.text, briefly(value), judged.word], room)


def first_fitting(choices: Iterable[str], room: int) -> str:
    """The first of several texts for which there is room; empty if there is for none."""
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


# ---------------------------------------------------------------------------------------- questions
# What each question of a comparison gives: its tables, and its rows in the answer.


@dataclass(frozen=True, slots=True)
class Question:
    """`part` is the part of the page that shows the tables, which have all that `asks` names
    (`scaling.study.questions`). There are no `grids` where the answer says it all, and no
    `findings` where there is no ratio, or too many for an answer.
    """

    part: PagePart
    asks: tuple[str, ...] = ()
    grids: Callable[[Compared], list[Grid]] = lambda _: []
    findings: Callable[[Compared], list[Finding]] = lambda _: []


HEADINGS = {THROUGHPUT: "throughput", CPU: "CPU per op", P99: "P99", MEMORY: "memory"}
FIRST = (THROUGHPUT, CPU)  # in every table of closed loops


def of_and_over(each: Ratio) -> tuple[str, ...]:
    """Both cells, for a column each."""
    return stacked(each.of), stacked(each.over)


def contrast_grids(
    title: str,
    found: Ratios,
    heads: Sequence[str],
    words: Callable[[Ratio], Iterable[str]] = of_and_over,
    *,
    first: Iterable[str] = FIRST,
    note: str = "",
) -> list[Grid]:
    """A table with a row for each two cells that a question compares; none without a ratio.

    A row has N, its `words` under `heads`, and a ratio for each measure: `first`, and whatever else
    the ratios are of.
    """
    rows: dict[tuple[str, CellOfStudy, CellOfStudy], dict[str, Ratio]] = {}
    for each in found:
        rows.setdefault((each.question, each.of, each.over), {})[each.asked_measure] = each
    measures = list(dict.fromkeys([*first, *(each.asked_measure for each in found)]))
    cells: list[list[Cell]] = [
        [str(of.workers), *words(next(iter(row.values()))), *(row.get(m, "") for m in measures)]
        for (_, of, _), row in rows.items()
    ]
    headings = ["N", *heads, *map(heading, measures)]
    return [Grid(title, headings, cells, 1 + len(heads), note)] if cells else []


def heading(measure: str) -> str:
    """What the column of a measure is called."""
    declared = MEASURES.get(measure)
    return HEADINGS.get(measure) or (declared and declared.words) or readable(measure)


def contrast_findings(question: str, found: Ratios, ratio: Ratio) -> list[Finding]:
    """The throughput answers the question; CPU time follows it."""
    cpu = found.same(ratio, CPU)
    follows = [Finding("… CPU time per operation", cpu)] if cpu else []
    return [Finding(question, ratio), *follows]


def at_headline_n(found: list[Ratio], n: int) -> list[Ratio]:
    """Those at the largest N up to `n`, or else at the smallest."""
    ns = [each.of.workers for each in found]
    at = max((each for each in ns if each <= n), default=min(ns))
    return [each for each in found if each.of.workers == at]
