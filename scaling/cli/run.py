"""`scaling run`: a study is measured."""

import os
from pathlib import Path
from typing import Annotated

import typer

from scaling.base.console import new_console, say
from scaling.cli.program import app
from scaling.cli.study_options import Asked, takes_asked
from scaling.study.services import POSTGRES


@app.command()
@takes_asked
def run(
    asked: Asked,
    output: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for journal, tables, plots and page."),
    ] = None,
    postgres: Annotated[
        str | None,
        typer.Option(
            metavar="URL", envvar=POSTGRES, help="An installed PostgreSQL for workloads that query."
        ),
    ] = None,
) -> None:
    """Measure a study, or resume an interrupted one; then print the answer."""
    from scaling.report.output import finish
    from scaling.run.measure import measure, prepared
    from scaling.run.progress import display
    from scaling.study.plan.view import one_line, reservations

    if postgres:
        os.environ[POSTGRES] = postgres  # where services look, and nothing else is to know it
    console, errors = new_console(), new_console(stderr=True)
    with prepared(asked.options, asked.wanted, lambda text: say(errors, text)) as ready:
        for line in (one_line(ready.plan), *reservations(ready.plan)):
            say(console, line)
        folder = measure(ready, output, display(console))
    finish(folder, console)
