"""`scaling plan` and `scaling run`: a study before and while it is measured."""

from pathlib import Path
from typing import Annotated

import typer

from scaling.base.console import new_console, say
from scaling.cli.app import app
from scaling.cli.study_options import Asked, takes_asked


def _say(text: str) -> None:
    say(new_console(stderr=True), text)


@app.command()
@takes_asked
def plan(asked: Asked) -> None:
    """Print what a study would run, what it cannot run and why, and how long it would take."""
    from scaling.run.measure import prepared
    from scaling.study.plan.view import PlanView

    with prepared(asked.options, asked.wanted, _say) as ready:
        new_console().print(PlanView(ready.plan))


@app.command()
@takes_asked
def run(
    asked: Asked,
    output: Annotated[
        Path | None, typer.Option(help="Folder for journal, tables and plots (results/STUDY).")
    ] = None,
) -> None:
    """Measure a study, or go on with an interrupted one; then print its tables and draw it."""
    from scaling.report.output import tell
    from scaling.run.measure import measure, prepared
    from scaling.run.progress import display
    from scaling.study.plan.view import one_line, reservations

    out = new_console()
    with prepared(asked.options, asked.wanted, _say) as ready:
        for line in (one_line(ready.plan), *reservations(ready.plan)):
            say(out, line)
        folder = measure(ready, output, display(out))
    tell(folder, out)
