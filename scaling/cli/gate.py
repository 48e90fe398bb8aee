"""`scaling gate`: fails if a study proves that scaling is too bad, or worse than before.

Against an earlier study it shows what is better, worse or inconclusive, with a bound or without.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from scaling.analysis.gate_bounds import BOUNDS
from scaling.base.console import new_console
from scaling.cli.program import Results, Texts, app, parameter, with_options

CELLS = "Which cells are checked"


def takes_bounds(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for each bound, in place of its first parameter."""
    shown = {
        name: typer.Option(each.flag, metavar="SHARE", help=each.about)
        for name, each in BOUNDS.items()
    }
    options = [parameter(name, Annotated[str | None, each]) for name, each in shown.items()]
    return with_options(command, options, dict)


@app.command(epilog="Example: scaling gate results/now --workload echo --at 2 --min-efficiency 0.8")
@takes_bounds
def gate(
    bounds: dict[str, str | None],
    results: Results,
    against: Annotated[
        Path | None, typer.Option(metavar="OLD", help="An earlier study, to show what changed.")
    ] = None,
    workload: Annotated[
        Texts,
        typer.Option(
            metavar="NAME,…",
            help="Workloads: echo,scrape (all but controls).",
            rich_help_panel=CELLS,
        ),
    ] = None,
    loop: Annotated[
        Texts,
        typer.Option(metavar="NAME,…", help="Loops: asyncio,uvloop (all).", rich_help_panel=CELLS),
    ] = None,
    arm: Annotated[
        Texts,
        typer.Option(metavar="NAME,…", help="Arms: 3.14,3.14t+gil (all).", rich_help_panel=CELLS),
    ] = None,
    model: Annotated[
        Texts,
        typer.Option(
            metavar="NAME,…", help="Models: threads,processes (all).", rich_help_panel=CELLS
        ),
    ] = None,
    sizing: Annotated[
        Texts,
        typer.Option(metavar="NAME,…", help="Sizings: weak,strong (all).", rich_help_panel=CELLS),
    ] = None,
    at: Annotated[
        Texts,
        typer.Option(
            metavar="N,…",
            help="Numbers of workers: 2,4 (for a bound, the largest with a core for each worker).",
            rich_help_panel=CELLS,
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Also fail if a check is inconclusive.")
    ] = False,
    allow_void: Annotated[
        bool,
        typer.Option("--allow-void", help="Do not fail where the controls of a study fail."),
    ] = False,
    details: Annotated[
        bool,
        typer.Option(
            "--details",
            help="Also list what is inconclusive since OLD, and how many blocks would decide it.",
        ),
    ] = False,
    summary: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.md", help="Append a Markdown summary to this file ($GITHUB_STEP_SUMMARY)."
        ),
    ] = None,
) -> None:
    """Check bounds on a study, and show what changed since an earlier one.

    Exit code 1 if intervals prove that a bound is broken, or if a study is void, so that nothing
    can be checked.
    """
    from scaling.analysis.gate_bounds import Limits, choice_of, share
    from scaling.report.gate import gate

    given = {name: share(text, BOUNDS[name].flag) for name, text in bounds.items()}
    limits = Limits(against=against, **given)
    named = {"workload": workload, "loop": loop, "arm": arm, "model": model, "sizing": sizing}
    wanted = choice_of(named, at)
    code = gate(
        results,
        limits,
        wanted,
        new_console(),
        strict=strict,
        allow_void=allow_void,
        details=details,
        summary=summary,
    )
    if code:
        raise SystemExit(code)
