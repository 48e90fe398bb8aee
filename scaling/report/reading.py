"""The journal that a command is about, and what is printed while it is read."""

import gc
from pathlib import Path

from rich.console import Console

from scaling.analysis.results import incomplete
from scaling.analysis.table.load import Journal, read_journal
from scaling.base.console import say

# Between two collections. Most objects live until the command ends, and few are in a cycle: at
# Python's own number a twentieth of the time is spent on looking through them.
ALLOCATIONS = 50_000


def read(results: Path, console: Console) -> Journal:
    """The journal; prints what was skipped in it, and whether it is incomplete.

    From here on garbage is collected rarely. Raises `UsageError` as `read_journal` does.
    """
    gc.set_threshold(ALLOCATIONS)
    journal = read_journal(results)
    for note in journal.notes:
        say(console, note)
    say_incomplete(journal, console)
    return journal


def say_incomplete(journal: Journal, console: Console) -> None:
    """Print what of the study is missing; nothing where all is there.

    Every output begins with it, and those in which it would scroll away end with it, too.
    """
    if text := incomplete(journal.frame, journal.study, journal.notes):
        say(console, f"{text} in {journal.path}")
