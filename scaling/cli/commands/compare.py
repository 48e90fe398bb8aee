"""`scaling compare`: arms, models and loops of a study, several studies, or several machines."""

from pathlib import Path
from typing import Annotated

from scaling.base.console import new_console
from scaling.cli.program import DIR, command


@command(110, "compare results/before results/now")
def compare(results: list[Path], /, *, output: Annotated[Path | None, DIR] = None) -> None:
    """Compare the arms, models and loops of a study, or several studies with the first.

    Studies made on different machines are put side by side, with what holds on all of them.

    Args:
        results: Folders of studies; the first is the one to compare with.
        output: Also write the words and tables to this folder.
    """
    from scaling.report.compare import compare

    compare(results, output, new_console())
