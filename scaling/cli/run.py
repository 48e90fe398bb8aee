"""`scaling run`: a study is measured, on this machine or on several."""

import os
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from scaling.base.console import new_console, say
from scaling.base.errors import UsageError
from scaling.builds.installed import POSTGRES, VALKEY
from scaling.cli.program import Asked, app, takes_asked


@app.command(epilog="Example: scaling run --workload echo --arm 3.14,3.14t --workers 1,2")
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
    valkey: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            envvar=VALKEY,
            help="An installed Valkey for cache (empty) and broadcast.",
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="tls://HOST:PORT",
            help="Measure on each host of this scheduler of dask.distributed, and not here.",
        ),
    ] = None,
) -> None:
    """Measure a study, or resume an interrupted one; then print the answer."""
    from scaling.analysis.forecast import announced
    from scaling.report.output import finish
    from scaling.run.measure import folder_of, measure, prepared
    from scaling.run.progress import display

    console, note = new_console(), partial(say, new_console(stderr=True))
    if cluster is not None:
        from scaling.cli.several import run_on_several

        _refuse_for_several(postgres, valkey)
        run_on_several(asked, cluster, output, console)
        return
    for name, url in ((POSTGRES, postgres), (VALKEY, valkey)):
        if url:
            os.environ[name] = url  # where services look, and nothing else is to know it
    with prepared(asked.options, asked.wanted, note) as ready:
        for line in announced(ready.plan, folder_of(ready.plan, output)):
            say(console, line)
        folder = measure(ready, output, display(console))
    finish(folder, console)


def _refuse_for_several(postgres: str | None, valkey: str | None) -> None:
    """What several hosts cannot share. Raises `UsageError`."""
    for option, url, name in (("postgres", postgres, POSTGRES), ("valkey", valkey, VALKEY)):
        if url:
            raise UsageError(
                f"--{option}: hosts measure at the same time, and would disturb each other on "
                f"one server. Set {name} on each host instead, and not here"
            )
