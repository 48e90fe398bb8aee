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

SEVERAL = "Several machines"


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
    load_from: Annotated[
        str | None,
        typer.Option(
            "--load-from",
            metavar="HOST",
            help="Send the load of served workloads from this host, by its name for ssh.",
            rich_help_panel=SEVERAL,
        ),
    ] = None,
    hosts: Annotated[
        str | None,
        typer.Option(
            metavar="[LABEL=]HOST,…",
            help="Measure on each of these hosts, by their names for ssh, and not here.",
            rich_help_panel=SEVERAL,
        ),
    ] = None,
    host_python: Annotated[
        str,
        typer.Option(
            metavar="COMMAND",
            help="The Python on these hosts that has asyncio-scaling[cluster].",
            rich_help_panel=SEVERAL,
        ),
    ] = "python3",
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="tls://HOST:PORT",
            help="Measure on the hosts of a scheduler of dask.distributed.",
            rich_help_panel=SEVERAL,
        ),
    ] = None,
) -> None:
    """Measure a study, or resume an interrupted one; then print the answer."""
    from scaling.report.output import finish
    from scaling.run.cluster.generator import reached
    from scaling.run.measure import measure, prepared
    from scaling.run.progress import display
    from scaling.study.plan.table import announced

    console, note = new_console(), partial(say, new_console(stderr=True))
    if hosts is not None or cluster is not None:
        from scaling.cli.several import run_on_several

        _refuse_for_several(load_from, postgres, valkey)
        run_on_several(asked, hosts, host_python, cluster, output, console)
        return
    for name, url in ((POSTGRES, postgres), (VALKEY, valkey)):
        if url:
            os.environ[name] = url  # where services look, and nothing else is to know it
    reach = reached(load_from, host_python) if load_from is not None else None
    with prepared(asked.options, asked.wanted, note, reach=reach) as ready:
        for line in announced(ready.plan):
            say(console, line)
        folder = measure(ready, output, display(console))
    finish(folder, console)


def _refuse_for_several(load_from: str | None, postgres: str | None, valkey: str | None) -> None:
    """What several hosts cannot share. Raises `UsageError`."""
    if load_from is not None:
        raise UsageError("--load-from: one host cannot load several. Run the study on each")
    for option, url, name in (("postgres", postgres, POSTGRES), ("valkey", valkey, VALKEY)):
        if url:
            raise UsageError(
                f"--{option}: hosts measure at the same time, and would disturb each other on "
                f"one server. Set {name} on each host instead, and not here"
            )
