"""`scaling export`: a study for other programs."""

from pathlib import Path
from typing import Annotated

import typer

from scaling.base.console import new_console
from scaling.cli.program import Results, app


@app.command(epilog="Example: scaling export results/compare --to csv")
def export(
    results: Results,
    to: Annotated[
        str,
        typer.Option(
            metavar="FORMAT",
            help="parquet or csv (one row per run), columns (the meaning of these), pyperf, hdr "
            "(latencies of each cell as HdrHistogram prints them), markdown (tables), bencher, "
            "github-action-benchmark (figures where more is better) or "
            "github-action-benchmark-smaller (figures where less is better).",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="File, or the folder for it. Without it, text goes to standard output; parquet "
            "and hdr need it.",
        ),
    ] = None,
) -> None:
    """Write a study in a format for other programs."""
    from scaling.report.export.formats import export

    export(results, to, output, new_console(), new_console(stderr=True))
