"""`scaling show`: a study in the terminal."""

from typing import Annotated

import typer

from scaling.base.console import new_console
from scaling.cli.program import Results, app


@app.command(epilog="Example: scaling show results/compare --details")
def show(
    results: Results,
    details: Annotated[bool, typer.Option("--details", help="Print all tables after it.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the answer as one JSON object.")
    ] = False,
) -> None:
    """Print the answer of a study; write nothing."""
    from scaling.report.show import show

    json_to = new_console() if as_json else None
    show(results, new_console(stderr=as_json), details=details, json_to=json_to)
