"""The records of a journal, counted: which runs it holds, and how often."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from scaling.base.errors import ScalingError
from scaling.journal.reading import read_lines
from scaling.journal.record import Cell, RunLine
from tests.faults.attempt import Try

type Key = tuple[int, Cell, int]  # block, cell, attempt


def key_of(line: RunLine) -> Key:
    return line.block, line.cell, line.attempt


def records(path: Path) -> Counter[Key]:
    """The runs in a journal; each should be there once. Raises `ScalingError`, `OSError`."""
    lines = read_lines(path, lambda note: None)
    return Counter(key_of(line) for line in lines if isinstance(line, RunLine))


def compared(path: Path, expected: Iterable[Key], problem: str = "") -> Try:
    """A try after which the journal should have these runs, once each; more is no fault."""
    try:
        found = records(path)
    except (ScalingError, OSError) as error:
        return Try(problem=problem or str(error), lost=len(set(expected)))
    return Try(
        problem=problem,
        lost=len(set(expected) - set(found)),
        doubled=found.total() - len(found),
    )
