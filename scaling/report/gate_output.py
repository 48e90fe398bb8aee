"""`scaling gate`: reads the journals, makes the checks, prints them and what changed since a
baseline, and returns the exit code.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from rich.console import Console
from rich.text import Text

from scaling.analysis.between_studies import Across
from scaling.analysis.gate.cells import checked, named, passes
from scaling.analysis.gate.checked import Checked, in_both
from scaling.analysis.gate.checks import limits_held
from scaling.analysis.gate.request import Limits
from scaling.analysis.lookup.cells import Choice
from scaling.analysis.lookup.extent import MINUTE_S, extent, incomplete
from scaling.analysis.results import StudyResults
from scaling.analysis.statistics.verdict import wider
from scaling.analysis.table.load import Journal
from scaling.base.errors import UsageError
from scaling.base.formats import plural
from scaling.report.gate_changes_view import changes_grid, changes_notes, changes_sentence
from scaling.report.gate_view import (
    bounds_grid,
    family,
    sentence,
    spread_note,
    summary_text,
    void_sentence,
)
from scaling.report.reading import read
from scaling.report.tables.markdown import grid_markdown
from scaling.report.tables.terminal import GridView

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
    found = limits_held(Checked(cells, new, across), limits, void or doubt)
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
        console.print(GridView(grid))
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
    for study, other, what in (
        (new, old, "Not in OLD, and not compared with it"),
        (old, new, "Only in OLD, and not checked"),
    ):
        known = set(other.blocks.cells)
        passing = (each for each in study.blocks.cells if passes(each, wanted))
        if alone := [study.names[each] for each in passing if each not in known]:
            is_named = details or len(alone) <= FEW
            yield f"{what}: {'; '.join(alone) if is_named else plural(len(alone), 'cell')}."
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
