"""`scaling gate`: fails if a study proves that scaling is too bad, or worse than before."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated

import typer

from scaling.base.console import new_console
from scaling.base.errors import UsageError
from scaling.base.typed import share_from_0_to_1, values_in
from scaling.cli.program import Results, Texts, app

CELLS = "Which cells are checked"


@app.command(epilog="Example: scaling gate results/now --workload echo --at 2 --max-loss 5%")
def gate(
    results: Results,
    max_loss: Annotated[
        str | None,
        typer.Option(metavar="SHARE", help="Most throughput lost over the best processes: 5%."),
    ] = None,
    min_efficiency: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE", help="Least throughput of N workers as a share of N times one: 0.8."
        ),
    ] = None,
    max_regression: Annotated[
        str | None,
        typer.Option(metavar="SHARE", help="Most throughput lost compared with OLD: 5%."),
    ] = None,
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
    allow_open: Annotated[
        bool, typer.Option("--allow-open", help="End with 0 also where a bound is open.")
    ] = False,
    allow_void: Annotated[
        bool,
        typer.Option("--allow-void", help="Do not fail where the controls of a study fail."),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the outcome as one JSON object.")
    ] = False,
    summary: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.md", help="Append a Markdown summary to this file ($GITHUB_STEP_SUMMARY)."
        ),
    ] = None,
) -> None:
    """Check bounds on a study, and show what changed since an earlier one.

    Exit code 0 where every bound is kept, 1 where one is proven to be broken or a study is void,
    3 where one is open.
    """
    from scaling.report.gate import Bounds, gate

    bounds = Bounds(
        min_efficiency=_share(min_efficiency, "--min-efficiency"),
        max_loss=_share(max_loss, "--max-loss"),
        max_regression=_share(max_regression, "--max-regression"),
        against=against,
    )
    named = {"workload": workload, "loop": loop, "arm": arm, "model": model, "sizing": sizing}
    choice = _choice({name: texts or () for name, texts in named.items()}, at or ())
    code = gate(
        results,
        bounds,
        choice,
        new_console(stderr=as_json),
        allow_open=allow_open,
        allow_void=allow_void,
        json_to=new_console() if as_json else None,
        summary=summary,
    )
    if code:
        raise SystemExit(code)


def _share(text: str | None, flag: str) -> float | None:
    return share_from_0_to_1(text, flag) if text is not None else None


def _choice(typed: Mapping[str, Iterable[str]], at: Iterable[str]) -> dict[str, list[object]]:
    """Which cells are meant by flags as typed: `a,b`, repeated, or both; `at` are their Ns.

    Raises:
        UsageError: a flag has no value, or an N is not a whole number from 1 on.
    """
    found: dict[str, list[object]] = {
        name: list(values_in(texts, f"--{name}")) for name, texts in typed.items()
    }
    for text in values_in(at, "--at"):
        if not text.isdecimal() or int(text) < 1:
            raise UsageError(f"gate: --at: expected numbers of workers, such as 2,4, got {text!r}")
        found.setdefault("workers", []).append(int(text))
    return {name: values for name, values in found.items() if values}
