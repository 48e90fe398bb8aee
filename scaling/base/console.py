"""A line of words for a terminal or a pipe."""

from rich.console import Console


def say(console: Console, text: str) -> None:
    """Print a text as it is, however long: paths and commands in it are there to be copied."""
    # `:100:`, a line's number behind a path, would be the name of an emoji.
    console.print(text, markup=False, emoji=False, highlight=False, soft_wrap=True)
