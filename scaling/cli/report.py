"""`scaling report`: a study on one page."""

from pathlib import Path
from typing import Annotated

import typer

from scaling.base.console import new_console
from scaling.cli.program import Results, app


@app.command(epilog="Example: scaling report results/compare")
def report(
    results: Results,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The page (RESULTS/report.html).")
    ] = None,
) -> None:
    """Write one HTML page about a study: the answer, plots, tables. It needs no network."""
    from scaling.report.page.render import report

    report(results, output, new_console())
