"""`scaling show`: a study in the terminal."""

from pathlib import Path
from typing import Annotated

import typer

from scaling.base.console import new_console
from scaling.cli.app import app


@app.command()
def show(
    results: Annotated[Path, typer.Argument(help="A study's folder, or its journal.")],
) -> None:
    """Print a study's tables, small curves and comparison in the terminal; nothing is written."""
    from scaling.report.terminal.show import show

    show(results, new_console())
