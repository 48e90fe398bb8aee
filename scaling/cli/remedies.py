"""`scaling remedies`: what is said to help, measured."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from scaling.base.console import new_console, say
from scaling.base.errors import UsageError
from scaling.cli.program import OF_HOST, Asked, Texts, app, requirements_file, takes_asked


@app.command(epilog="Example: scaling remedies --workload echo")
@takes_asked
def remedies(
    asked: Asked,
    application: Annotated[
        str | None,
        typer.Option("--app", metavar="MODULE:NAME", help="Your own application: shop.main:app."),
    ] = None,
    factory: Annotated[
        bool, typer.Option("--factory", help="NAME is a function that makes the application.")
    ] = False,
    with_requirements: Annotated[
        list[Path] | None,
        typer.Option(
            "--with-requirements", metavar="FILE", help="A requirements file of it, as for pip."
        ),
    ] = None,
    requests: Annotated[
        Path | None,
        typer.Option(
            "--requests", metavar="FILE", help="Requests to it, one JSON object a line (GET /)."
        ),
    ] = None,
    host: Annotated[str, typer.Option("--host", metavar="HOST", help=OF_HOST)] = "",
    remedy: Annotated[
        Texts,
        typer.Option("--remedy", metavar="NAME,…", help="Only these: recv64k,eager (all)."),
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="Print every remedy and who recommends it.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    output: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for the study's journal.")
    ] = None,
) -> None:
    """Measure what is said to help: each remedy alone against none, then the best together.

    Threads on 3.14t unless --arm and --model say otherwise. It ends with the lines to paste.
    """
    from scaling.base.typed import values_in
    from scaling.builds.settings import REMEDIES
    from scaling.cli.remedy_steps import RemedySteps, entry_of
    from scaling.report.remedies import listing, print_remedies, remedies_json
    from scaling.run.app_requests import read_requests_file

    console = new_console()
    if listed:
        if json:
            raise UsageError("--list prints text: leave --json out")
        for line in listing():
            say(console, line)
        return
    if asked.options.study is not None:
        raise UsageError("--study: remedies makes a study of its own; use --workload or --app")
    if with_requirements and application is None:
        raise UsageError("--with-requirements: it is for an application: --app shop.main:app")
    if requests is not None and application is None:
        raise UsageError("--requests: they are sent to an application: --app shop.main:app")
    if application is not None and not asked.path:
        asked = replace(asked, path=(Path(),))  # where `scaling app` looks for it, too
    errors = new_console(stderr=True)
    files = [str(requirements_file(each)) for each in with_requirements or ()]
    steps = RemedySteps(
        options=asked.options,
        needs=replace(asked.wanted, requirement_files=files),
        requests=read_requests_file(requests, partial(say, errors), host) if requests else None,
        entry=entry_of(asked.options.workload_names, application, factory=factory),
        only=values_in(remedy, "--remedy") if remedy else tuple(REMEDIES),
        output=output,
        console=errors if json else console,
        errors=errors,
    ).known()
    found = steps.measure()
    if json:
        say(console, remedies_json(found))
        return
    print_remedies(found, console)
