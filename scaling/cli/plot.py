"""`scaling plot`: plots and tables of a study, from its journal alone."""

from pathlib import Path
from typing import Annotated

import typer

from scaling.base.console import new_console
from scaling.cli.program import Results, app


@app.command(epilog="Example: scaling plot results/compare")
def plot(
    results: Results,
    output: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for plots and tables (beside the journal)."),
    ] = None,
) -> None:
    """Make the plots, tables and CSV files of a study again, from its journal."""
    from scaling.report.output import write_again

    write_again(results, output, new_console())
