"""`scaling gate`: reads the journals, makes the checks, prints them and what changed since a
baseline, and returns the exit code.
"""

import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, get_args

from rich.console import Console
from rich.text import Text

from scaling.analysis.between_studies import Across
from scaling.analysis.gate import (
    BoundCheck,
    Checked,
    Choice,
    checked,
    in_both,
    judged,
    named,
    passes,
)
from scaling.analysis.gate_bounds import Limits
from scaling.analysis.ratios import Ratio
from scaling.analysis.results import MINUTE_S, StudyResults, extent, incomplete
from scaling.analysis.soundness import Soundness
from scaling.analysis.statistics.estimate import bounds_kind
from scaling.analysis.statistics.hypotheses import POWER
from scaling.analysis.statistics.verdict import MOST_BLOCKS, Word, wider
from scaling.analysis.table.load import Journal
from scaling.base import formats
from scaling.base.errors import UsageError
from scaling.base.formats import plural
from scaling.report.files import read
from scaling.report.tables.between_studies import value, what
from scaling.report.tables.grid import Cell, Grid, VerdictCell, grid_markdown, unbroken
from scaling.study.questions import CAPACITY

# ----------------------------------------------------------------------------------- what was found
# What the gate found, for a terminal and for the summary of a CI job.

N_IS = "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}"  # of a cell's name, not to be broken over two lines


def sentence(found: Sequence[BoundCheck], *, passes: bool, strict: bool) -> str:
    """The outcome in one line: `gate: FAILS: 1 of 3 checks fails.`."""
    if not found:
        return "gate: passes: no bound was stated; --max-regression 5% states one."
    counts = Counter(check.word for check in found)
    among = f"of {formats.plural(len(found), 'check')}"
    if fails := counts["fails"]:
        result = f"{fails} {among} {'fails' if fails == 1 else 'fail'}"
    elif doubtful := counts["inconclusive"]:
        result = f"{doubtful} {among} {'is' if doubtful == 1 else 'are'} inconclusive"
        result += "; that fails with --strict" if strict else "; none is proven to fail"
    else:
        holds = counts["holds"]
        result = f"{holds} {among} {'holds' if holds == 1 else 'hold'}"
    return f"gate: {'passes' if passes else 'FAILS'}: {result}."


def void_sentence(void: str, studies: Iterable[Soundness]) -> str:
    """The outcome where a study is `void`: where its controls fail, which have the reasons."""
    reasons = "; ".join(why for each in studies if each.status == "void" for why in each.reasons)
    return f"gate: FAILS: nothing could be checked: {void} ({reasons}). --allow-void lets it pass."


def spread_note(found: Sequence[BoundCheck]) -> str:
    """What stands with the figures, intervals or mere ranges; empty for single runs."""
    kind = bounds_kind(each.value for each in found)
    return f"With each figure its {kind}." if kind else ""


def family(found: Sequence[BoundCheck]) -> str:
    """That several checks are one family; empty for one."""
    if len(found) < 2:
        return ""
    return (
        f"{len(found)} checks are one family: by Holm's correction the chance that any of them "
        "fails without cause is below 5 %."
    )


def bounds_grid(found: Sequence[BoundCheck]) -> Grid:
    """One row a check: the cell and what is checked, the bound, the figure, the outcome."""
    rows: list[list[Cell]] = [
        [
            f"{each.cell.replace(' = ', N_IS)}\n{each.what}",
            formats.number(each.bound),
            each.value,
            VerdictCell(each.word, "\n".join(filter(None, (each.word, each.why)))),
        ]
        for each in found
    ]
    return Grid("", ["cell", "at least", "measured", "outcome"], rows)


def summary_text(outcome: str, tables: Iterable[str], notes: Sequence[str]) -> str:
    """What a job summary shows: the outcome, the tables, the notes."""
    lines = "\n".join(f"{unbroken(note)}  " for note in notes)
    return "\n\n".join(
        filter(None, ("## Scaling gate", f"**{unbroken(outcome)}**", *tables, lines))
    )


# ------------------------------------------------------------------------------------- what changed
# What changed since a baseline, for a terminal and for the summary of a CI job.

type Changed = Literal["worse", "better", "same", "inconclusive"]

WORDS: tuple[Changed, ...] = get_args(Changed.__value__)
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


# -------------------------------------------------------------------------------------- the command

JOB_SUMMARY = "GITHUB_STEP_SUMMARY"
PASS, FAIL = 0, 1
FEW = 3  # cells that are named and not counted


def gate(
    results: Path,
    limits: Limits,
    wanted: Choice,
    console: Console,
    *,
    strict: bool = False,
    allow_void: bool = False,
    details: bool = False,
    summary: Path | None = None,
    environment: Mapping[str, str] = os.environ,
) -> int:
    """Print the checks of a study, and what changed since a baseline; return the exit code.

    1 if a check is proven to fail, or with `strict` if any is inconclusive, or if a study is void,
    so that nothing can be checked, unless `allow_void`; else 0. What changed without a bound
    informs only: what is better, worse and the same is listed, the rest counted, with `details`
    listed, too. A Markdown summary is added to the end of `summary`, by default of
    the file that GitHub Actions names.

    Raises:
        UsageError: a journal cannot be read, it has nothing that could be checked, or the summary
            cannot be written: an exit code of 1 is for what is proven.
    """
    journals = {"RESULTS": read(results, console)}
    if limits.against:
        journals["OLD"] = read(limits.against, console)
    studies = {which: StudyResults.of(each) for which, each in journals.items()}
    new, old = studies["RESULTS"], studies.get("OLD")
    is_void = (f"{which} is void" for which, s in studies.items() if s.soundness.status == "void")
    void = next(is_void, "")
    across = Across(old, new, lambda cell: passes(cell, wanted)) if old else None
    doubt = wider(each.floor.margin("throughput") for each in studies.values()).doubt
    cells = checked(new.blocks, wanted) if limits.bounds else []
    found = judged(limits.checks(Checked(cells, new, across)), void or doubt)
    words = {check.word for check in found}
    passing = "fails" not in words and not (strict and "inconclusive" in words)
    outcome = sentence(found, passes=passing, strict=strict)
    if void and not allow_void:
        passing = False
        outcome = void_sentence(void, [each.soundness for each in studies.values()])
    notes = [note for note in (spread_note(found), family(found)) if note]
    for which, each in studies.items():
        doubts = (each.soundness.text, *each.caveats)
        notes += [f"{which}: {doubt}" for doubt in doubts if doubt]
    grids = [bounds_grid(found)] if found else []
    if across:
        in_both(named(new.blocks.cells, wanted), across.then.blocks.cells)
        changed = [each.undecided("void", void) if void else each for each in across.ratios]
        shown = [each for each in changed if details or each.verdict.is_decided]
        block_s = max(map(_block_s, journals.values()))
        grids += [changes_grid(across, shown, block_s)] if shown else []
        notes += [*changes_notes(shown), *_differences(across), *_alone(across, wanted, details)]
        notes.append(changes_sentence(changed, shown))
    notes += _missing(journals)
    for grid in grids:
        console.print(grid)
    for line in [*notes, outcome]:
        console.print(Text(line))
    if file := summary or environment.get(JOB_SUMMARY):
        _append(Path(file), summary_text(outcome, map(grid_markdown, grids), notes))
    return PASS if passing else FAIL


def _block_s(journal: Journal) -> float:
    """What the runs of a block take."""
    measured = extent(journal)
    return MINUTE_S * measured.minutes / max(1, measured.blocks)


def _differences(across: Across) -> Iterator[str]:
    """What else is not the same in two studies, and may be what a ratio comes from."""
    yield "The two studies were not made side by side: what changed on the machine is in the ratio."
    if across.is_backwards:
        yield "OLD was begun after RESULTS: are they the wrong way round?"
    if across.differences:
        yield f"Not the same in both: {'; '.join(across.differences)}."


def _alone(across: Across, wanted: Choice, details: bool) -> Iterator[str]:
    """The cells that one study does not have or has no valid run of; of many how many they are,
    unless `details` are wanted.
    """
    new, old = across.now, across.then
    for study, other, absent in (
        (new, old, "Not in OLD, and not compared with it"),
        (old, new, "Only in OLD, and not checked"),
    ):
        known = set(other.blocks.cells)
        passing = (each for each in study.blocks.cells if passes(each, wanted))
        if alone := [study.names[each] for each in passing if each not in known]:
            is_named = details or len(alone) <= FEW
            yield f"{absent}: {'; '.join(alone) if is_named else plural(len(alone), 'cell')}."
    for study, which in ((new, "RESULTS"), (old, "OLD")):
        if without := across.without_run(study):
            yield f"No valid run in {which}: {'; '.join(without)}."


def _missing(studies: Mapping[str, Journal]) -> Iterator[str]:
    """What is missing in a study that is not complete."""
    for which, each in studies.items():
        if lacks := incomplete(each.frame, each.study, each.notes):
            yield f"{which}: {lacks}."


def _append(file: Path, text: str) -> None:
    """Add to the summary; other steps of a job may have written theirs before."""
    try:
        with file.open("a", encoding="utf-8") as out:
            out.write(text)
    except OSError as error:
        raise UsageError(f"gate: {file} cannot be written ({error.strerror or error})") from None
