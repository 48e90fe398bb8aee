"""`scaling show`: a study in the terminal."""

from typing import Annotated

import typer

from scaling.base.console import new_console
from scaling.cli.program import Results, app


@app.command(epilog="Example: scaling show results/compare --details")
def show(
    results: Results,
    details: Annotated[
        bool, typer.Option("--details", help="Print all tables, small curves and the comparison.")
    ] = False,
) -> None:
    """Print the answer of a study, then a table for each workload; write nothing."""
    from scaling.report.terminal.show import show

    show(results, new_console(), details=details)
