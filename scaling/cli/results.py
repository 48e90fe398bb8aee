"""`scaling plot` and `scaling compare`: what journals say, once more and against each other."""

from pathlib import Path
from typing import Annotated

import typer

from scaling.base.console import new_console
from scaling.cli.app import app


@app.command()
def plot(
    results: Annotated[Path, typer.Argument(help="A study's folder, or its journal.")],
    output: Annotated[
        Path | None, typer.Option(help="Folder for plots and tables (beside the journal).")
    ] = None,
) -> None:
    """Make a study's plots, tables and CSV files again, from its journal alone."""
    from scaling.report.output import write_again

    write_again(results, output, new_console())


@app.command()
def compare(
    results: Annotated[list[Path], typer.Argument(help="Studies' folders; the first is earliest.")],
    output: Annotated[
        Path | None, typer.Option(help="Folder for tables and plots (beside a single journal).")
    ] = None,
) -> None:
    """Hold arms and models of a study against each other, or later studies against the first."""
    from scaling.cli.compare_run import compare

    compare(results, output, new_console())
