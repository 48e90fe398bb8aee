"""`scaling claims`: published claims, checked against our figures."""

from pathlib import Path
from typing import Annotated

import typer

from scaling.base.console import new_console
from scaling.cli.program import app


@app.command(epilog="Example: scaling claims results/compare")
def claims(
    results: Annotated[
        list[Path],
        typer.Argument(metavar="RESULTS", help="Folders of studies, or folders of such folders."),
    ],
    claims: Annotated[
        Path | None,
        typer.Option(metavar="FILE.toml", help="Your own list of claims (the built-in list)."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE.md", help="Also write all claims as Markdown.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also print the claims that cannot be tested here.")
    ] = False,
) -> None:
    """Check published claims about asyncio against your results: theirs beside yours."""
    from scaling.report.claims import print_claims

    print_claims(results, claims, output, new_console(), everything=everything)
