"""Printing for a terminal or a pipe: names and paths come out as they are."""

from typing import TextIO

from rich.console import Console


def new_console(
    *, stderr: bool = False, quiet: bool = False, file: TextIO | None = None
) -> Console:
    """The only way in which a console is made here.

    Rich reads a plain string, also one in a table's cell, as markup: `:100:` becomes an emoji
    (whatever `markup` says) and `[red]` a colour. Text from users and children must not change.
    """
    return Console(
        stderr=stderr, quiet=quiet, file=file, emoji=False, markup=False, highlight=False
    )


def say(console: Console, text: str) -> None:
    """Print a text as it is, however long: paths and commands in it are there to be copied."""
    console.print(text, markup=False, emoji=False, highlight=False, soft_wrap=True)
