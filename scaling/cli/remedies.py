"""`scaling remedies`: what is said to help, measured."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scaling.base.console import new_console, say
from scaling.base.errors import UsageError
from scaling.cli.program import OF_HOST, Asked, app, requirements_file, takes_asked

if TYPE_CHECKING:
    from rich.console import Console


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
    listed: Annotated[
        bool,
        typer.Option("--list", help="Print every remedy, who recommends it, and how to enable it."),
    ] = False,
    output: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for journal, tables, plots and page.")
    ] = None,
) -> None:
    """Measure what is said to help: the built-in study `remedies` of a workload or application.

    It compares each remedy with none, in threads on 3.14t; --arm 3.14t,3.14t+eager chooses.
    """
    from scaling.analysis.forecast import announced
    from scaling.report.output import finish
    from scaling.run.app_requests import read_requests_file, requirements_of
    from scaling.run.application_trial import interface_of, try_application
    from scaling.run.measure import folder_of, measure, prepared
    from scaling.run.progress import display
    from scaling.study.application import WSGI
    from scaling.study.remedies import remedies_of, remedies_of_application

    console, note = new_console(), partial(say, new_console(stderr=True))
    if listed:
        _print_list(console)
        return
    of_application = {"--with-requirements": with_requirements, "--requests": requests}
    if given := [flag for flag, value in of_application.items() if value and not application]:
        raise UsageError(f"{given[0]}: it is for an application: --app shop.main:app")
    if asked.options.study is not None:
        raise UsageError("--study: remedies is a study of its own; use --workload or --app")
    names = asked.options.workload_names
    if application and names:
        raise UsageError("--app and --workload: give one of them")
    if application and not asked.path:
        asked = replace(asked, path=(Path(),))  # where `scaling app` looks for it, too
    files = [str(requirements_file(each)) for each in with_requirements or ()]
    sent, sent_note = read_requests_file(requests, note, host) if requests else ([], None)
    needed = [*asked.wanted.requirements, *requirements_of(sent)]
    wanted = replace(asked.wanted, requirement_files=files, requirements=needed)
    ready_for = partial(prepared, asked.options, wanted)
    study = remedies_of(names)
    if application:
        study_of = partial(remedies_of_application, application, sent_note, factory=factory)
        with ready_for(note, study_of()) as ready:
            study = study_of(is_wsgi=interface_of(ready) == WSGI)
    with ready_for(note, study) as ready:
        for line in announced(ready.plan, folder_of(ready.plan, output)):
            say(console, line)
        loaded = replace(ready, requests=sent)
        if application:
            try_application(loaded)
        folder = measure(loaded, output, display(console))
    finish(folder, console)


def _print_list(console: "Console") -> None:
    """Print every remedy: what it does, who recommends it, how to enable it."""
    from scaling.builds.settings import REMEDIES

    for setting in REMEDIES.values():
        say(console, f"{setting.name}: {setting.summary}\n    {setting.source}")
        for line in (*(f"export {each}" for each in setting.variables), *setting.lines):
            say(console, f"    {line}")
