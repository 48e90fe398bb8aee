"""Reads a study's journal, and makes all its other files from it.

Only the journal must be kept: `scaling report` makes the others again, also after figures are
computed differently.
"""

import gc
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from scaling.analysis.table.load import read_journal
from scaling.analysis.tables.study import Study
from scaling.base.console import say
from scaling.journal.protected_write import try_writing, write_file
from scaling.report import csv

if TYPE_CHECKING:
    from scaling.report.render.svg import Drawing

TABLES, SUMMARY, COMPARISON, LOSSES = "tables.md", "summary.csv", "comparison.csv", "losses.csv"
PLOTS = "plots"
AGAIN = "scaling report"

# Between two collections. Most objects live until the command ends, and few are in a cycle: at
# Python's own number a twentieth of the time is spent on looking through them.
ALLOCATIONS = 50_000


def read(results: Path, console: Console) -> Study:
    """The study; prints what was skipped in its journal, and whether it is incomplete.

    From here on garbage is collected rarely.

    Raises:
        UsageError: no journal is there, an empty one, one without runs, or one of a newer version.
    """
    gc.set_threshold(ALLOCATIONS)
    study = Study.of(read_journal(results))
    for note in study.skipped:
        say(console, note)
    say_incomplete(study, console)
    return study


def say_incomplete(study: Study, console: Console) -> None:
    """Print what of the study is missing; nothing where all is there.

    Every output begins with it, and those in which it would scroll away end with it, too.
    """
    if text := study.incomplete:
        say(console, f"{text} in {study.path}")


def write_csv(study: Study, folder: Path) -> list[Path]:
    """Write the CSV files into `folder`, which is made; return these files. Those of comparison and
    losses are written where there are any.

    Raises:
        ScalingError: something cannot be written.
    """
    tables = {SUMMARY: csv.summary, COMPARISON: csv.comparison, LOSSES: csv.losses}
    made = {folder / name: rows for name, of in tables.items() if len(rows := of(study))}
    for file, rows in made.items():
        write_file(file, partial(csv.write, rows), AGAIN)
    return list(made)


def write_plots(drawn: "Iterable[Drawing]", folder: Path, formats: Sequence[str]) -> list[Path]:
    """Write plots in these formats into `folder`, which is made; return these files.

    Raises:
        ScalingError: something cannot be written.
    """
    files = {folder / f"{each.name}.{kind}": each for each in drawn for kind in formats}

    def write() -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for file, drawing in files.items():
            drawing.write(file)

    try_writing(folder, write, AGAIN)
    return list(files)
