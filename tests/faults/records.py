"""The runs that a journal holds: how often each, and what is wrong with it."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from scaling.analysis.table.load import judge_of
from scaling.base.errors import ScalingError
from scaling.journal.file import FILE_NAME
from scaling.journal.reading import read_lines
from scaling.journal.record import Cell, RunLine, StudyLine
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


def judged(folder: Path) -> list[tuple[RunLine, str | None]]:
    """Every run and why the driver judges it invalid, None where it does not.

    Raises:
        ScalingError: the journal cannot be read.
    """
    head, *lines = read_lines(folder / FILE_NAME, lambda note: None)
    assert isinstance(head, StudyLine)
    judge = judge_of(head)
    return [(line, judge(line)) for line in lines if isinstance(line, RunLine)]


def latest(folder: Path) -> list[tuple[RunLine, str | None]]:
    """The last attempt at each of them."""
    found = {(line.block, line.cell): (line, why) for line, why in judged(folder)}
    return list(found.values())
