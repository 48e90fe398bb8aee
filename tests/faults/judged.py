"""The runs of a journal with what is wrong with each, as the driver judges them."""

from pathlib import Path

from scaling.analysis.table.load import judge_of
from scaling.journal.file import FILE_NAME
from scaling.journal.reading import read_lines
from scaling.journal.record import RunLine, StudyLine


def judged(folder: Path) -> list[tuple[RunLine, str | None]]:
    """Every run and why it is invalid, None where it is not. Raises `ScalingError`."""
    head, *lines = read_lines(folder / FILE_NAME, lambda note: None)
    assert isinstance(head, StudyLine)
    judge = judge_of(head)
    return [(line, judge(line)) for line in lines if isinstance(line, RunLine)]


def latest(folder: Path) -> list[tuple[RunLine, str | None]]:
    """The last attempt at each of them."""
    found = {(line.block, line.cell): (line, why) for line, why in judged(folder)}
    return list(found.values())
