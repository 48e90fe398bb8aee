"""`scaling publish` and `scaling quotes`: a study for a repository, and the texts about it."""

from pathlib import Path
from typing import Annotated

import typer

from scaling.base.console import new_console
from scaling.cli.app import app


@app.command()
def publish(
    results: Annotated[Path, typer.Argument(help="A study's folder, or its journal.")],
    folder: Annotated[Path, typer.Argument(help="The folder to publish it in, made if need be.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Also where another study was published there.")
    ] = False,
) -> None:
    """Put a study where it can be committed: packed journal, environment, tables and plots."""
    from scaling.report.publish.folder import publish

    publish(results, folder, new_console(), replace=replace)


@app.command()
def quotes(
    texts: Annotated[list[Path], typer.Argument(help="Markdown files that quote figures.")],
    results: Annotated[
        Path, typer.Option(metavar="FOLDER", help="The folder below which the studies stand.")
    ],
    write: Annotated[
        bool, typer.Option("--write", help="Put the figures right instead of telling of them.")
    ] = False,
) -> None:
    """Check that every figure in a text is what was measured, as the comment behind it says."""
    from scaling.report.quotes.rewrite import quotes

    if not quotes(texts, results, new_console(), write=write):
        raise SystemExit(1)
