"""`scaling report`: a study told on one page."""

from pathlib import Path
from typing import Annotated

import typer

from scaling.base.console import new_console
from scaling.cli.app import app


@app.command()
def report(
    results: Annotated[Path, typer.Argument(help="A study's folder, or its journal.")],
    output: Annotated[
        Path | None, typer.Option(help="File for the page (RESULTS/report.html).")
    ] = None,
) -> None:
    """Tell a study on one HTML page that needs no network: the answer, and all that bears it."""
    from scaling.report.page.write import report

    report(results, output, new_console())
