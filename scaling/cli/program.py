"""The program that the commands are registered with, and what several of them take.

A command imports what it needs when it is called: `scaling --help` does not wait for pandas.
"""

from pathlib import Path
from typing import Annotated

import typer

from scaling.base.version import __version__

app = typer.Typer(
    name="scaling",
    help="Measure how asyncio scales over N event loops: threads on free-threaded Python, "
    "processes, sub-interpreters.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

Results = Annotated[
    Path, typer.Argument(metavar="RESULTS", help="Folder of a study, or its journal.")
]
Texts = list[str] | None


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"scaling {__version__}")
        raise typer.Exit


@app.callback()
def program(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Take the options of the program itself."""
