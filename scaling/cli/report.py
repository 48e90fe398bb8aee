"""`scaling report`: the files that are made from a journal."""

from pathlib import Path
from typing import Annotated

import typer

from scaling.base.console import new_console
from scaling.base.errors import UsageError
from scaling.base.typed import values_in
from scaling.cli.program import Results, Texts, app


@app.command(epilog="Example: scaling report results/compare")
def report(
    results: Results,
    output: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for the files (beside the journal).")
    ] = None,
    to: Annotated[
        Texts,
        typer.Option(
            metavar="FORMAT,…",
            help="Write the study for other programs instead: csv or parquet (a row for each run), "
            "bencher or github-action-benchmark (figures of each cell).",
        ),
    ] = None,
) -> None:
    """Write the page, the plots and the tables of a study again, from its journal alone."""
    if output is not None and output.suffix in (".csv", ".html", ".json", ".parquet"):
        raise UsageError(f"--output {output}: expected a folder: files have names of their own")
    if formats := values_in(to or (), "--to"):
        from scaling.report.exports import export

        export(results, formats, output, new_console())
    else:
        from scaling.report.output import write_again

        write_again(results, output, new_console())
