"""`scaling plan` and `scaling run`: a study before and while it is measured."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from scaling.cli.app import app
from scaling.cli.asked import Asked, takes_asked
from scaling.terminal.line import say


def _say(text: str) -> None:
    say(Console(stderr=True), text)


@app.command()
@takes_asked
def plan(asked: Asked) -> None:
    """Print what a study would run, what it cannot run and why, and how long it would take."""
    from scaling.conduct import prepared
    from scaling.plan.view import PlanView

    with prepared(asked.options, asked.wanted, _say) as ready:
        Console().print(PlanView(ready.plan))


@app.command()
@takes_asked
def run(
    asked: Asked,
    output: Annotated[
        Path | None, typer.Option(help="Folder for journal, tables and plots (results/STUDY).")
    ] = None,
) -> None:
    """Measure a study, or go on with an interrupted one; then print its tables and draw it."""
    from scaling.conduct import measure, prepared
    from scaling.driver.progress import display
    from scaling.plan.view import one_line, reservations
    from scaling.tell import tell

    console = Console()
    with prepared(asked.options, asked.wanted, _say) as ready:
        for line in (one_line(ready.plan), *reservations(ready.plan)):
            say(console, line)
        folder = measure(ready, output, display(console))
    tell(folder, console)
