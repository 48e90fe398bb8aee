"""`scaling explain`: why it does not scale."""

from pathlib import Path
from typing import Annotated

import typer

from scaling.base.console import new_console
from scaling.base.errors import UsageError
from scaling.cli.program import Results, Texts, app
from scaling.cli.study_options import PATH, WITH

PROFILE = "Names of functions (--profile)"
PAIRS = 5


@app.command(epilog="Example: scaling explain results/compare --details")
def explain(
    results: Results,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON: every term of every cell.")
    ] = False,
    details: Annotated[
        bool, typer.Option("--details", help="Print every term of every cell.")
    ] = False,
    profile: Annotated[
        bool,
        typer.Option(
            "--profile",
            help="Run one cell again at N = 1 and at N, and print which functions gained time.",
            rich_help_panel=PROFILE,
        ),
    ] = False,
    cell: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="Which cell, by some of its words: echo uvloop 3.14t. By default that of threads "
            "without the GIL that loses most.",
            rich_help_panel=PROFILE,
        ),
    ] = None,
    pairs: Annotated[
        int | None,
        typer.Option(
            metavar="COUNT",
            help=f"How many pairs of runs, at N = 1 and at N ({PAIRS}).",
            rich_help_panel=PROFILE,
        ),
    ] = None,
    path: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR",
            help=PATH,
            rich_help_panel=PROFILE,
        ),
    ] = None,
    with_: Annotated[
        Texts,
        typer.Option(
            "--with",
            metavar="REQUIREMENT",
            help=WITH,
            rich_help_panel=PROFILE,
        ),
    ] = None,
) -> None:
    """Say where the time goes that N workers lose against one, with intervals."""
    from scaling.report.explain import explain, show_profile

    of_profiles = {"--cell": cell, "--pairs": pairs, "--path": path, "--with": with_}
    given = [flag for flag, value in of_profiles.items() if value not in (None, [])]
    if given and not profile:
        raise UsageError(f"explain: {given[0]} needs --profile: every cell is explained without it")
    json_to = new_console() if as_json else None
    console = new_console(stderr=as_json)
    if profile:
        from scaling.cli.profile_steps import profile_cell

        count = PAIRS if pairs is None else pairs
        made = profile_cell(results, cell, count, paths=path or (), requirements=with_ or ())
        show_profile(results, made, console, json_to=json_to)
    else:
        explain(results, console, json_to=json_to, details=details)
