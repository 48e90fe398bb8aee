"""`scaling compare`: arms, models and loops of a study, several studies, or several machines."""

from pathlib import Path
from typing import Annotated

from scaling.base.console import new_console
from scaling.cli.program import DIR, command


@command(110, "compare results/before results/now")
def compare(results: list[Path], /, *, output: Annotated[Path | None, DIR] = None) -> None:
    """Compare the arms, models and loops of a study, or several studies with the first.

    Studies of different machines are shown side by side, with the words that hold on all.

    Args:
        results: Folders of studies; the others are compared with the first.
        output: Also write the words and tables to this folder.
    """
    from scaling.report.compare import compare

    compare(results, output, new_console())
