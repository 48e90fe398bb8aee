"""`scaling remedies`: measures settings that somebody recommends."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from scaling.base.console import new_console, say
from scaling.base.errors import UsageError
from scaling.cli.program import (
    FILE,
    HERE,
    NOTHING_ASKED,
    Host,
    Output,
    StudyAsked,
    command,
    measure,
    requirements_file,
)
from scaling.study.app_options import AppAsked

if TYPE_CHECKING:
    from rich.console import Console


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Application:
    """A user's own application to try the remedies on."""

    app: Annotated[str, Parameter(metavar="MODULE:NAME")] = ""
    """Your own application: shop.main:app."""
    factory: bool = False
    """NAME is a function that returns the application."""
    with_requirements: Annotated[tuple[Path, ...], FILE] = ()
    """A requirements file of the application."""
    requests: Annotated[Path | None, FILE] = None
    """Requests to the application, a file as for `scaling app` (GET / alone)."""
    host: Host = ""


@command(80, "remedies --workload echo")
def remedies(
    asked: StudyAsked = NOTHING_ASKED,
    *,
    application: Application = Application(),
    listed: Annotated[bool, Parameter(name="--list")] = False,
    output: Output = None,
) -> None:
    """Measure remedies: settings and small changes that somebody recommends.

    The built-in study `remedies` compares each of them with none, in threads on 3.14t, for a
    workload or your application. --arm 3.14t,3.14t+eager chooses some of them.

    Args:
        listed: Print every remedy, who recommends it, and how to enable it.
    """
    from scaling.report.output import finish
    from scaling.run.prepare import prepared
    from scaling.study.remedies import remedies_of

    console, note = new_console(), partial(say, new_console(stderr=True))
    if listed:
        _print_list(console)
        return
    if asked.options.study is not None:
        raise UsageError("--study: the command has a study of its own; use --workload or --app")
    if application.app:
        measured = _of_application(asked, application, output, console)
    else:
        for name in ("with_requirements", "requests"):
            if getattr(application, name):
                flag = name.replace("_", "-")
                raise UsageError(f"--{flag}: name the application, too: --app shop.main:app")
        study = remedies_of(asked.options.workload)
        with prepared(asked.options, asked.wanted, note, study) as prepared_study:
            measured = measure(prepared_study, output, console)
    finish(measured, console)


def _of_application(
    asked: StudyAsked, application: Application, output: Path | None, console: "Console"
) -> Path:
    """Measure an application with each remedy; return the study's folder.

    Raises:
        UsageError: something that was asked for does not exist or does not fit.
        ScalingError: the application does not answer.
    """
    from scaling.cli.app_steps import steps_of
    from scaling.study.remedies import remedies_of_application

    if asked.options.workload:
        raise UsageError("--app and --workload: give one of them")
    # `scaling app` looks for the application here, too.
    wanted = replace(asked, path=asked.path or (HERE,)).wanted
    files = [str(requirements_file(each)) for each in application.with_requirements]
    steps = steps_of(
        AppAsked(application=application.app, factory=application.factory),
        replace(wanted, requirement_files=files),
        asked.options,
        application.requests,
        application.host,
        console,
        study_of=remedies_of_application,
    )
    return steps.measure(output, checked=False)


def _print_list(console: "Console") -> None:
    """Print every remedy: what it does, who recommends it, how to enable it."""
    from scaling.builds.settings import REMEDIES

    for setting in REMEDIES.values():
        say(console, f"{setting.name}: {setting.summary}\n    {setting.source}")
        for line in (*(f"export {each}" for each in setting.variables), *setting.lines):
            say(console, f"    {line}")
