"""`scaling gate`: fails where a study proves that scaling has become too bad."""

from pathlib import Path
from typing import Annotated

import typer

from scaling.base.console import new_console
from scaling.cli.app import app

Texts = list[str] | None


@app.command()
def gate(
    results: Annotated[Path, typer.Argument(help="A study's folder, or its journal.")],
    min_efficiency: Annotated[
        str | None,
        typer.Option(metavar="SHARE", help="The least that N workers may do of N times one: 0.8."),
    ] = None,
    against: Annotated[
        Path | None, typer.Option(metavar="OLD", help="An earlier study to hold this one against.")
    ] = None,
    max_regression: Annotated[
        str | None,
        typer.Option(metavar="SHARE", help="The most throughput that may be lost over OLD: 5%."),
    ] = None,
    workload: Annotated[
        Texts, typer.Option(help="Workloads to check: echo,scrape (all but controls).")
    ] = None,
    loop: Annotated[Texts, typer.Option(help="Loops to check: asyncio,uvloop (all).")] = None,
    arm: Annotated[Texts, typer.Option(help="Arms to check: 3.14,3.14t+gil (all).")] = None,
    model: Annotated[Texts, typer.Option(help="Models to check: threads,processes (all).")] = None,
    sizing: Annotated[Texts, typer.Option(help="Sizings to check: weak,strong (all).")] = None,
    at: Annotated[
        Texts, typer.Option(help="Ns to check: 2,4 (the largest with a core for each worker).")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Also fail if a check is inconclusive.")
    ] = False,
    summary: Annotated[
        Path | None,
        typer.Option(help="Add a Markdown summary to this file ($GITHUB_STEP_SUMMARY)."),
    ] = None,
) -> None:
    """Exit with 1 if a study's intervals prove that a bound is not held, with 0 if not."""
    from scaling.analysis.gate.request import Limits, filter_of, share
    from scaling.cli.gate_run import gate

    limits = Limits(
        min_efficiency=share(min_efficiency, "--min-efficiency"),
        max_regression=share(max_regression, "--max-regression"),
        against=against,
    )
    named = {"workload": workload, "loop": loop, "arm": arm, "model": model, "sizing": sizing}
    wanted = filter_of(named, at)
    code = gate(results, limits, wanted, new_console(), strict=strict, summary=summary)
    if code:
        raise SystemExit(code)
