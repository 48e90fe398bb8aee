"""`scaling explain`: why it does not scale."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from scaling.base.console import new_console, say
from scaling.base.errors import UsageError
from scaling.cli.program import OF_HOST, PATH, WITH, Results, Texts, app, folder

HOLD = "Profilers (--hold)"


@app.command(epilog="Example: scaling explain results/compare --details")
def explain(
    results: Results,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON: every term of every cell.")
    ] = False,
    details: Annotated[
        bool, typer.Option("--details", help="Print every term of every cell.")
    ] = False,
    hold: Annotated[
        int | None,
        typer.Option(
            "--hold",
            metavar="SECONDS",
            min=1,
            help="Run the cell that loses most for so long; print its PID and profilers' commands.",
            rich_help_panel=HOLD,
        ),
    ] = None,
    path: Annotated[
        list[Path] | None, typer.Option(metavar="DIR", help=PATH, rich_help_panel=HOLD)
    ] = None,
    with_: Annotated[
        Texts, typer.Option("--with", metavar="REQUIREMENT", help=WITH, rich_help_panel=HOLD)
    ] = None,
    requests: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Requests to your application (GET /).", rich_help_panel=HOLD
        ),
    ] = None,
    host: Annotated[str, typer.Option(metavar="HOST", help=OF_HOST, rich_help_panel=HOLD)] = "",
) -> None:
    """Say where the time goes that N workers lose against one, with intervals."""
    from scaling.report.explain import explain
    from scaling.run.app_requests import read_requests_file, requirements_of

    of_hold = {"--path": path, "--with": with_, "--requests": requests, "--host": host}
    given = [flag for flag, value in of_hold.items() if value not in (None, [], "")]
    if given and hold is None:
        raise UsageError(f"explain: {given[0]} needs --hold: nothing is run without it")
    if hold is not None:
        if as_json or details:
            raise UsageError("explain: --hold prints commands: leave --json and --details out")
        note = partial(say, new_console(stderr=True))
        sent = read_requests_file(requests, note, host)[0] if requests else []
        _hold(results, hold, path or [], [*(with_ or []), *requirements_of(sent)], sent)
        return
    json_to = new_console() if as_json else None
    explain(results, new_console(stderr=as_json), json_to=json_to, details=details)


def _hold(
    results: Path,
    seconds: int,
    paths: list[Path],
    requirements: list[str],
    sent: Sequence[Mapping[str, Any]],
) -> None:
    """Keep the cell that loses most running for `seconds`, and print what profiles it.

    Raises:
        UsageError: there is no such study or cell, or the study cannot be run here.
        ScalingError: a run failed.
    """
    from scaling.report.explain import cell_to_profile, in_words, profiler_commands
    from scaling.report.files import read
    from scaling.run.hold import hold
    from scaling.run.measure import ChildNeeds, prepared
    from scaling.study.definition import Options
    from scaling.study.file import study_file_of

    console, note = new_console(), partial(say, new_console(stderr=True))
    study = read(results, console)
    cell = cell_to_profile(study)
    if cell is None:
        raise UsageError("explain: --hold needs a cell of CPython at N > 1 with readings")
    needs = ChildNeeds(paths=[str(folder(each)) for each in paths], requirements=requirements)
    options = Options(arm=[cell.arm], seconds=str(seconds))
    with prepared(options, needs, note, study_file_of(study.line.study, str(results))) as ready:

        def started(pids: Sequence[int]) -> None:
            where = f"PID {', '.join(map(str, pids))}"
            say(console, f"{in_words(cell)}: running for {seconds} s, {where}")
            for line in profiler_commands(cell, seconds, ready.arms[cell.arm].program, pids):
                say(console, f"  {line}")

        figure = hold(replace(ready, requests=sent), study.ceilings, cell, seconds, started)
    say(console, f"ended: {figure}")
