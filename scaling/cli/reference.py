"""`scaling reference`: all published studies, measured on this machine, unattended."""

from pathlib import Path
from typing import Annotated

import typer

from scaling.base.console import new_console
from scaling.cli.program import Texts, app


@app.command()
def reference(
    hours: Annotated[
        float | None,
        typer.Option(metavar="H", min=0.05, help="Take the studies that fit into this time (all)."),
    ] = None,
    only: Annotated[
        Texts, typer.Option("--only", metavar="NAME,…", help="Only these: scale,serve,outside.")
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The name of this machine in the results: epyc-2-cores."),
    ] = None,
    pgo: Annotated[
        bool, typer.Option("--pgo/--no-pgo", help="Interpreters built with PGO, where it matters.")
    ] = True,
    alternate: Annotated[
        bool,
        typer.Option(
            "--alternate/--no-alternate",
            help="Measure cells whose ratio is asked for in turn, as scaling run does.",
        ),
    ] = True,
    listed: Annotated[
        bool, typer.Option("--list", help="Print what would be measured, and measure nothing.")
    ] = False,
    output: Annotated[Path, typer.Option(metavar="DIR", help="Folder to measure in.")] = Path(
        "results/reference"
    ),
    published: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder to publish in, a folder for each machine.")
    ] = Path("results/published"),
) -> None:
    """Measure the reference studies one after the other, and publish each that is complete.

    The same command resumes an interrupted session: a study that this command has published for
    this machine is not measured again. Exit code 1: a study failed.
    """
    from scaling.base.typed import values_in
    from scaling.cli.reference_steps import ReferenceSteps
    from scaling.study.reference import reference_studies

    steps = ReferenceSteps(
        studies=reference_studies(values_in(only, "--only") if only else None),
        output=output,
        published=published,
        console=new_console(),
        label=label,
        hours=hours,
        pgo=pgo,
        alternate=alternate,
    )
    steps.print_plan()
    if not listed:
        steps.measure()
