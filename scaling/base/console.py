"""Consoles that print names and paths unchanged, to a terminal or a pipe."""

from typing import TextIO

from rich.console import Console


def new_console(
    *, stderr: bool = False, quiet: bool = False, file: TextIO | None = None
) -> Console:
    """Make a console without markup. All consoles are made here.

    Rich reads a plain string, also in a cell of a table, as markup: `:100:` becomes an emoji
    (whatever `markup` says) and `[red]` a colour. Text from users and children must not change.
    """
    return Console(
        stderr=stderr, quiet=quiet, file=file, emoji=False, markup=False, highlight=False
    )


def say(console: Console, text: str) -> None:
    """Print a text without wrapping, so that paths and commands in it can be copied."""
    console.print(text, markup=False, emoji=False, highlight=False, soft_wrap=True)
