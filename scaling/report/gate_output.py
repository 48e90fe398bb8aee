"""`scaling gate`: reads the journals, makes the checks, prints them and what changed since a
baseline, and returns the exit code.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from scaling.analysis.comparison.between_studies import across
from scaling.analysis.controls import soundness
from scaling.analysis.curves.sections import sections
from scaling.analysis.gate.capacity_changes import capacity_figures
from scaling.analysis.gate.cells import CheckedCell, cells, compared, every, matching, pairs
from scaling.analysis.gate.changes import Change, changes, figures
from scaling.analysis.gate.checks import limits_held
from scaling.analysis.gate.request import Filter, Limits
from scaling.analysis.lookup.extent import MINUTE_S, extent, incomplete
from scaling.analysis.statistics.noise import noise_floor
from scaling.analysis.statistics.verdict import wider
from scaling.analysis.table.load import Journal
from scaling.base.errors import UsageError
from scaling.base.formats import plural
from scaling.report.gate_changes_view import (
    changes_lines,
    changes_markdown,
    changes_notes,
    changes_sentence,
)
from scaling.report.gate_view import (
    family,
    markdown,
    sentence,
    spread_note,
    summary_text,
    table,
    void_sentence,
)
from scaling.report.output import read
from scaling.study.caveats import caveats

JOB_SUMMARY = "GITHUB_STEP_SUMMARY"
PASS, FAIL = 0, 1
FEW = 3  # cells that are named and not counted


def gate(
    results: Path,
    limits: Limits,
    wanted: Filter,
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
    new = read(results, console)
    old = read(limits.against, console) if limits.against else None
    studies = {"RESULTS": new} | ({"OLD": old} if old else {})
    sound = {which: soundness(each.frame, each.study) for which, each in studies.items()}
    void = next((f"{which} is void" for which, s in sound.items() if s.status == "void"), "")
    here = sections(new.frame, new.study)
    before = sections(old.frame, old.study) if old else []
    now = cells(here, wanted) if limits.has_bound else []
    floors = [noise_floor(each.frame, each.study) for each in studies.values()]
    doubt = wider(floor.margin("throughput") for floor in floors).doubt
    found = limits_held(now, limits, every(before), void or doubt)
    words = {check.word for check in found}
    passes = "fails" not in words and not (strict and "inconclusive" in words)
    outcome = sentence(found, passes=passes, strict=strict)
    if void and not allow_void:
        passes, outcome = False, void_sentence(void, sound.values())
    notes = [note for note in (spread_note(found), family(found)) if note]
    for (which, each), floor in zip(studies.items(), floors, strict=True):
        doubts = (sound[which].text, *floor.withheld, *caveats(each.study))
        notes += [f"{which}: {doubt}" for doubt in doubts if doubt]
    if found:
        console.print(table(found))
    shown: list[Change] = []
    block_s = max(map(_block_s, studies.values()))
    if old:
        both = pairs(compared(here, wanted), every(before))
        ours, theirs = (new.frame, new.study), (old.frame, old.study)
        at_objectives = capacity_figures(ours, theirs, wanted, floors)
        changed = changes([*figures(both, floors), *at_objectives], void)
        shown = [each for each in changed if details or each.ratio.verdict.is_decided]
        for part in changes_lines(shown, block_s):
            console.print(part)
        notes += [*changes_notes(shown), *_differences(old, new)]
        for some, others, what in (
            (matching(here, wanted), every(before), "Not in OLD, and not compared with it"),
            (matching(before, wanted), every(here), "Only in OLD, and not checked"),
        ):
            notes += _alone(some, others, what, named=details)
        for which, cells_of in zip(studies, zip(*both, strict=True), strict=True):
            notes += _invalid(cells_of, which)
        notes.append(changes_sentence(changed, shown))
    notes += _missing(studies)
    for line in [*notes, outcome]:
        console.print(Text(line))
    if file := summary or environment.get(JOB_SUMMARY):
        tables = [markdown(found), changes_markdown(shown, block_s)]
        _append(Path(file), summary_text(outcome, tables, notes))
    return PASS if passes else FAIL


def _block_s(journal: Journal) -> float:
    """What the runs of a block take."""
    measured = extent(journal)
    return MINUTE_S * measured.minutes / max(1, measured.blocks)


def _differences(old: Journal, new: Journal) -> list[str]:
    """What else is not the same in two studies, and may be what a ratio comes from."""
    between = across((old.frame, old.study), (new.frame, new.study))
    changed = [
        "The two studies were not made side by side: what changed on the machine is in the ratio."
    ]
    if between.is_backwards:
        changed.append("OLD was begun after RESULTS: are they the wrong way round?")
    if between.differences:
        changed.append(f"Not the same in both: {'; '.join(between.differences)}.")
    return changed


def _alone(
    some: Sequence[CheckedCell], others: Sequence[CheckedCell], what: str, *, named: bool
) -> list[str]:
    """Those of the cells that the other study does not have; of many how many, unless `named`."""
    known = {cell.cell for cell in others}
    alone = [cell.name for cell in some if cell.cell not in known]
    names = "; ".join(alone) if named or len(alone) <= FEW else plural(len(alone), "cell")
    return [f"{what}: {names}."] if alone else []


def _invalid(some: Iterable[CheckedCell], which: str) -> list[str]:
    """Those of the cells that have no valid run."""
    without = [cell.name for cell in some if not cell.point.throughput.n]
    return [f"No valid run in {which}: {'; '.join(without)}."] if without else []


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
