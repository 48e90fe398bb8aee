"""The program that the commands are registered with, and what several of them take.

A command imports what it needs when it is called: `scaling --help` does not wait for pandas.
"""

from pathlib import Path
from typing import Annotated

import typer

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
