"""`scaling show`: all that a study says, printed, and nothing written."""

from pathlib import Path

from rich.console import Console

from scaling.analysis.results import StudyResults
from scaling.report.output import read
from scaling.report.tables.comparison import chapters
from scaling.report.tables.comparison_view import Comparison
from scaling.report.tables.results_view import Results
from scaling.report.terminal.bars import Bars


def show(results: Path, console: Console) -> None:
    """Print tables, curves and, where there is one, the comparison of the study in `results`.

    Raises:
        UsageError: there is no journal that could be read.
    """
    journal = read(results, console)
    study = StudyResults.of(journal)
    console.print(Results(study))
    console.print(Bars(study))
    if found := chapters(study, alone=False):
        console.print(Comparison(found))
