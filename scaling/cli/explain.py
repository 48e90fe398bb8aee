"""`scaling explain`: why it does not scale."""

from typing import Annotated

import typer

from scaling.base.console import new_console
from scaling.cli.program import Results, app


@app.command()
def explain(
    results: Results,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON: every term of every cell.")
    ] = False,
) -> None:
    """Say where the time goes that N workers lose against one, with intervals."""
    from scaling.report.explain_output import explain

    json_to = new_console() if as_json else None
    explain(results, new_console(stderr=as_json), json_to=json_to)
