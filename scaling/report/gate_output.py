"""`scaling gate`: reads the journals, makes the checks, prints them, and returns the exit code."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console

from scaling.analysis.comparison.between_studies import across
from scaling.analysis.controls import soundness
from scaling.analysis.curves.sections import sections
from scaling.analysis.gate.cells import CheckedCell, cells, chosen, every
from scaling.analysis.gate.checks import limits_held
from scaling.analysis.gate.request import Filter, Limits
from scaling.analysis.table.load import Journal
from scaling.base.console import say
from scaling.base.errors import UsageError
from scaling.report.gate_view import family, markdown, sentence, spread_note, table
from scaling.report.output import read
from scaling.study.scaled import scaled_to

JOB_SUMMARY = "GITHUB_STEP_SUMMARY"
PASS, FAIL = 0, 1


def gate(
    results: Path,
    limits: Limits,
    wanted: Filter,
    console: Console,
    *,
    strict: bool = False,
    summary: Path | None = None,
    environment: Mapping[str, str] = os.environ,
) -> int:
    """Print the checks of a study and return the exit code.

    1 if a check is proven to fail, or with `strict` if any is inconclusive; else 0. A Markdown
    summary is added to the end of `summary`, by default of the file that GitHub Actions names.

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
    now, then = cells(here, wanted), every(before)
    found = limits_held(now, limits, then, void)
    words = {check.word for check in found}
    passes = "fails" not in words and not (strict and "inconclusive" in words)
    outcome = sentence(found, passes=passes, strict=strict)
    notes = [note for note in (spread_note(found), family(found)) if note]
    for which, each in studies.items():
        doubts = (sound[which].text, scaled_to(each.study.study))
        notes += [f"{which}: {doubt}" for doubt in doubts if doubt]
    if old:
        notes += _changed(old, new)
        notes += _alone(now, then, "Not in OLD, and not compared with it")
        notes += _alone(chosen(before, wanted), every(here), "Only in OLD, and not checked")
    console.print(table(found))
    for line in [*notes, outcome]:
        say(console, line)
    if file := summary or environment.get(JOB_SUMMARY):
        _append(Path(file), markdown(found, outcome, notes))
    return PASS if passes else FAIL


def _changed(old: Journal, new: Journal) -> list[str]:
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


def _alone(some: Sequence[CheckedCell], others: Sequence[CheckedCell], what: str) -> list[str]:
    """Those of the cells that the other study does not have."""
    known = {cell.identity for cell in others}
    alone = [cell.name for cell in some if cell.identity not in known]
    return [f"{what}: {'; '.join(alone)}."] if alone else []


def _append(file: Path, text: str) -> None:
    """Add to the summary; other steps of a job may have written theirs before."""
    try:
        with file.open("a", encoding="utf-8") as out:
            out.write(text)
    except OSError as error:
        raise UsageError(f"gate: {file} cannot be written ({error.strerror or error})") from None
