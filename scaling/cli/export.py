"""`scaling export`: a study for other programs."""

from pathlib import Path
from typing import Annotated

import typer

from scaling.base.console import new_console
from scaling.cli.app import app


@app.command()
def export(
    results: Annotated[Path, typer.Argument(help="A study's folder, or its journal.")],
    to: Annotated[
        str, typer.Option(metavar="FORMAT", help="parquet, csv (a row a run), pyperf or markdown.")
    ],
    output: Annotated[
        Path | None, typer.Option(help="File, or folder for it (beside the journal).")
    ] = None,
) -> None:
    """Write a study for other programs: its runs, pyperf's JSON, or tables for a pull request."""
    from scaling.report.export.formats import export

    export(results, to, output, new_console())
