"""`scaling compare`: arms, models and loops of a study, several studies, or several machines."""

from pathlib import Path
from typing import Annotated

import typer

from scaling.base.console import new_console
from scaling.cli.program import app


@app.command(epilog="Example: scaling compare results/before results/now")
def compare(
    results: Annotated[
        list[Path],
        typer.Argument(
            metavar="RESULTS", help="Folders of studies; the first is the one to compare with."
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Also write the words and tables to this folder."),
    ] = None,
) -> None:
    """Compare the arms, models and loops of a study, or several studies with the first.

    Studies made on different machines are put side by side, with what holds on all of them.
    """
    from scaling.report.compare import compare

    compare(results, output, new_console())
