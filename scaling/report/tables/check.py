"""The result of an application's check: a sentence, and a table of its findings."""

from collections.abc import Iterator

from scaling.base.formats import plural
from scaling.journal.beside import AppCheck
from scaling.report.tables.grid import Cell, Grid

SOUND = "its answers are the same on several loops as on one"
HEADINGS = ["finding", "first request", "what happens", "what to do"]


def check_sentence(found: AppCheck) -> str:
    """`Check: 2 findings on several loops (mixed-up, other-loop).`."""
    if found.ok:
        return f"Check: {SOUND}."
    kinds = ", ".join(dict.fromkeys(each.kind for each in found.findings))
    return f"Check: {plural(len(found.findings), 'finding')} on several loops ({kinds})."


def check_grids(found: AppCheck | None) -> Iterator[Grid]:
    """The findings; none where nothing was found or checked."""
    if found and found.findings:
        rows: list[list[Cell]] = [
            [each.kind, each.request, each.message, each.remedy] for each in found.findings
        ]
        yield Grid("What is wrong on several loops", HEADINGS, rows, words=len(HEADINGS))
