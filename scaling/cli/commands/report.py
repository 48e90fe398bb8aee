"""`scaling report`: writes the files that are made from a journal."""

from pathlib import Path
from typing import Annotated

from scaling.base.console import new_console
from scaling.base.errors import UsageError
from scaling.cli.program import DIR, Results, command, of_kind
from scaling.study.kinds import NAMES

FORMATS = (
    "Write the study for other programs instead: csv or parquet (a row for each run), bencher or "
    "github-action-benchmark (figures of each cell)."
)


@command(100, "report results/compare")
def report(
    results: Results,
    /,
    *,
    output: Annotated[Path | None, DIR] = None,
    to: Annotated[tuple[str, ...], of_kind(NAMES, FORMATS, metavar="FORMAT,…")] = (),
) -> None:
    """Write the page, the plots and the tables of a study again, from its journal alone.

    Args:
        output: Folder for the files (beside the journal).
    """
    if output is not None and output.suffix in (".csv", ".html", ".json", ".parquet"):
        raise UsageError(f"--output {output}: expected a folder: files have names of their own")
    if to:
        from scaling.report.exports import export

        export(results, to, output, new_console())
    else:
        from scaling.report.output import write_again

        write_again(results, output, new_console())
