"""`scaling claims`: what others say, held against our figures."""

from pathlib import Path
from typing import Annotated

import typer

from scaling.base.console import new_console
from scaling.cli.app import app


@app.command()
def claims(
    results: Annotated[
        list[Path], typer.Argument(help="Studies' folders, or folders with studies in them.")
    ],
    claims: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A list of claims, TOML (the project's).")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE.md", help="Write the same as Markdown.")
    ] = None,
) -> None:
    """Say of each published claim whether it holds here, with our figure beside theirs."""
    from scaling.cli.claims_run import tell_claims

    tell_claims(results, claims, output, new_console())
