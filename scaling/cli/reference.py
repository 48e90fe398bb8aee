"""`scaling reference`: all published studies, measured on this machine, unattended."""

from pathlib import Path
from typing import Annotated

import typer

from scaling.base.console import new_console
from scaling.base.errors import UsageError
from scaling.cli.program import Texts, app

SUBMIT = "For a pull request"


@app.command(epilog="Example: scaling reference --hours 3")
def reference(
    hours: Annotated[
        float | None,
        typer.Option(metavar="H", min=0.05, help="Take the studies that fit into this time (all)."),
    ] = None,
    only: Annotated[
        Texts, typer.Option("--only", metavar="NAME,…", help="Only these: scale,serve,outside.")
    ] = None,
    batch: Annotated[
        Texts,
        typer.Option("--batch", metavar="N,…", help="Only these batches of two hours and a half."),
    ] = None,
    workers: Annotated[
        Texts,
        typer.Option(
            "--workers",
            metavar="N,…",
            help="Numbers of workers, but for studies that have their own: 1,2,cores (1,2).",
        ),
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
    submit: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Measure nothing: check the published studies of a machine, or of several, commit "
            "them to a branch of this clone, and write the text of a pull request.",
            rich_help_panel=SUBMIT,
        ),
    ] = None,
    partial: Annotated[
        bool,
        typer.Option(
            "--partial", help="Leave out studies that fail a check.", rich_help_panel=SUBMIT
        ),
    ] = False,
    branch: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The branch (results-MACHINE).", rich_help_panel=SUBMIT),
    ] = None,
) -> None:
    """Measure the reference studies one after the other, and publish each that is complete.

    The same command resumes an interrupted session: a study that this command has published for
    this machine is not measured again. Exit code 1: a study failed.
    """
    from scaling.base.typed import values_in
    from scaling.cli.reference_steps import ReferenceSteps
    from scaling.study.reference import reference_studies

    names = values_in(only, "--only") if only else ()
    studies = reference_studies(names, values_in(batch, "--batch") if batch else ())
    counts = values_in(workers, "--workers") if workers else ()
    if submit is not None:
        from scaling.cli.submit_steps import SubmitSteps

        asked = {"--hours": hours, "--workers": counts, "--label": label, "--list": listed}
        if given := [flag for flag, value in asked.items() if value]:
            raise UsageError(f"--submit measures nothing: leave out {given[0]}")
        SubmitSteps(
            folder=submit,
            published=published,
            output=output,
            console=new_console(),
            asked=[study.name for study in studies] if names or batch else [],
            branch=branch,
            partial=partial,
        ).submit()
        return
    for flag, value in (("--partial", partial), ("--branch", branch)):
        if value:
            raise UsageError(f"{flag} is for --submit FOLDER")
    steps = ReferenceSteps(
        studies=studies,
        output=output,
        published=published,
        console=new_console(),
        label=label,
        hours=hours,
        workers=counts,
        pgo=pgo,
        alternate=alternate,
    )
    steps.print_plan()
    if not listed:
        steps.measure()
