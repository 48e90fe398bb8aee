"""`scaling show`: what a study says, the answer first; nothing is written."""

import shlex
from pathlib import Path

from rich.console import Console

from scaling.analysis.remedies import bases_of, remedies_in
from scaling.analysis.results import StudyResults
from scaling.base.console import say
from scaling.report.reading import read, say_incomplete
from scaling.report.remedies_view import print_factors
from scaling.report.tables.comparison import chapters
from scaling.report.tables.overview import overview
from scaling.report.tables.results_view import Results
from scaling.report.tables.terminal import Chapters
from scaling.report.terminal.answer import Answer
from scaling.report.terminal.app_answer import AppLines
from scaling.report.terminal.bars import Bars


def show(results: Path, console: Console, *, details: bool = False) -> None:
    """Print the answer of the study in `results`, then a table for each workload.

    With `details` all tables and curves and the comparison follow the answer instead.

    Raises:
        UsageError: there is no journal that could be read.
    """
    journal = read(results, console)
    study = StudyResults.of(journal)
    if study.is_of_remedies:
        print_factors(remedies_in(study, bases_of(study)), console)
    else:
        console.print(AppLines(study) if "application" in study.study.study else Answer(study))
    console.print()
    if not details:
        console.print(Chapters(overview(study), in_short=True))
        say(console, f"More: scaling show {shlex.quote(str(results))} --details")
    else:
        console.print(Results(study))
        console.print(Bars(study))
        if found := chapters(study, alone=False):
            console.print(Chapters(found))
    say_incomplete(journal, console)
