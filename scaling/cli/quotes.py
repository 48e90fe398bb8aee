"""`scaling quotes`: figures in texts, checked against the results."""

from pathlib import Path
from typing import Annotated

import typer

from scaling.base.console import new_console
from scaling.cli.program import app


@app.command(epilog="Example: scaling quotes FILE.md --results results/published")
def quotes(
    texts: Annotated[
        list[Path], typer.Argument(metavar="FILE.md", help="Markdown files that quote figures.")
    ],
    results: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder that contains the published studies.")
    ],
    write: Annotated[
        bool, typer.Option("--write", help="Correct wrong ones instead of listing them.")
    ] = False,
) -> None:
    """Check that every figure and verdict quoted in a text is the measured one."""
    from scaling.report.quotes import quotes

    if not quotes(texts, results, new_console(), write=write):
        raise SystemExit(1)
