"""`scaling show`: what a study says, the answer first; nothing is written."""

import shlex
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.text import Text

from scaling.analysis.results import StudyResults
from scaling.analysis.sections import RunIssue
from scaling.base import formats
from scaling.base.console import say
from scaling.report.files import read, say_incomplete
from scaling.report.tables.comparison import chapters
from scaling.report.tables.grid import WIDTH
from scaling.report.tables.notes import issues_by_kind, study_notes
from scaling.report.tables.overview import figure_chapters, overview
from scaling.report.terminal.answer import LINES, answer_lines, bars
from scaling.report.terminal.app_answer import app_lines

# ------------------------------------------------------------------------------------- results view
# The figures of a study as tables in a terminal.
#
# Every number comes with its range or interval and the number of runs behind it. Invalid runs are
# in no number; they are listed apart, with their reasons. Use: `console.print(Results(results))`.

CELLS_TOLD = 3  # of each kind of fault; Markdown has them all
SOUNDNESS_STYLES = {"void": "bold red"}  # all others are warnings
WIDE = 120  # characters from which a terminal has room for the extra columns


class Results:
    """All tables of a study, printed by rich; they fit the width available."""

    def __init__(self, results: StudyResults) -> None:
        self._results = results

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """One table per section, then what was left out or marked, and why."""
        del console
        results = self._results
        behaved = results.soundness
        if behaved.text:
            yield Text(f"{behaved.text}\n", SOUNDNESS_STYLES.get(behaved.status, "yellow"))
        yield from (Text(f"{each}\n", "yellow") for each in results.caveats)
        yield from (Text(f"{note}\n", "dim") for note in study_notes(results.frame, results.drift))
        yield from figure_chapters(results, extra=options.max_width >= WIDE)
        if unsound := results.run_issues:
            yield Text("Suspect and invalid runs (invalid ones are excluded)", "bold")
            yield from _issue_lines(unsound)


def _issue_lines(found: list[RunIssue]) -> Iterator[Text]:
    """A line for each kind of fault, and below it the first few cells that have it."""
    for members in issues_by_kind(found):
        first = members[0]
        runs = formats.plural(sum(member.runs for member in members), "run")
        style = "red" if first.validity == "invalid" else "yellow"
        yield Text.assemble((first.validity, style), f": {first.reasons}, {runs}")
        for member in members[:CELLS_TOLD]:
            yield Text.assemble(f"  {member.cell}", (f": {member.detail}", "dim"))
        if len(members) > CELLS_TOLD:
            more = formats.plural(len(members) - CELLS_TOLD, "more cell")
            yield Text(f"  and {more}", "dim")


# --------------------------------------------------------------------------------------------- show


def show(results: Path, console: Console, *, details: bool = False) -> None:
    """Print the answer of the study in `results`, then a table for each workload.

    With `details` all tables and curves and the comparison follow the answer instead.

    Raises:
        UsageError: there is no journal that could be read.
    """
    journal = read(results, console)
    study = StudyResults.of(journal)
    print_lines(study, console)
    console.print()
    if not details:
        console.print(Group(*overview(study)))
        say(console, f"More: scaling show {shlex.quote(str(results))} --details")
    else:
        console.print(Results(study))
        console.print(Group(*bars(study, console.width)))
        console.print(Group(*chapters(study, alone=False)))
    say_incomplete(journal, console)


def print_lines(
    results: StudyResults,
    console: Console,
    most: int = LINES,
    memory_bytes: float | None = None,
) -> None:
    """Print the figures of the answer, in at most so many lines."""
    width = min(WIDTH, console.width)
    if results.is_of_application:
        lines = app_lines(results, width, most, memory_bytes)
    else:
        lines = answer_lines(results, width, most)
    console.print(Group(*(Text(line, no_wrap=True, overflow="ellipsis") for line in lines)))
