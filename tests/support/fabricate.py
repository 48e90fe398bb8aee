"""The former names of `tests.support.studies`, for tests that are not changed yet."""

import random
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from scaling.analysis.table.load import Journal, read_journal
from scaling.journal.record import Cell, Line, RunLine, StudyLine
from tests.support.runs import LOOP_FACTORS, MIB, STARTED_AT, STARTED_NS, Change, with_
from tests.support.studies import FakeStudy as Made
from tests.support.studies import Variants, arm, runtime, write

__all__ = [
    "LOOP_FACTORS",
    "MIB",
    "STARTED_AT",
    "STARTED_NS",
    "Made",
    "Variants",
    "arm",
    "cells_of",
    "journal",
    "run_line",
    "runtime",
    "studied",
    "study_line",
    "with_",
    "write",
]


def journal(made: Made, change: Change | None = None) -> list[Line]:
    """The study line and one run per cell and block, in a seeded random order."""
    return replace(made, change=change).lines


def studied(
    folder: Path, made: Made, change: Change | None = None, *, name: str = "journal.jsonl"
) -> Journal:
    """A fake study, written to `folder` and read back."""
    return read_journal(replace(made, change=change).write(folder, name))


def cells_of(made: Made) -> Iterable[Cell]:
    """The cells without A/A pairs."""
    return replace(made, aa_pairs=False).every_cell


def study_line(made: Made) -> StudyLine:
    """The first line."""
    return made.first_line


def run_line(
    made: Made, cell: Cell, rng: random.Random, *, block: int = 0, position: int = 0
) -> RunLine:
    """One measured run of the cell without fault."""
    return made.run(cell, rng, block=block, position=position)
