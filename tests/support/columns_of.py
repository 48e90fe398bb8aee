"""Columns of runs that are given by their records alone."""

from collections.abc import Sequence

from scaling.analysis.column import Rows
from scaling.analysis.table.load import rows_of
from scaling.journal.record import Record, RunLine
from tests.support.studies import FakeStudy

MADE = FakeStudy(workers=(1,))


def columns_of(*records: Record | None) -> Rows:
    """A run of each record, in that order."""
    cell = next(iter(MADE.every_cell))
    runs = [
        RunLine(cell=cell, outcome="measured", block=0, position=0, record=each) for each in records
    ]
    return rows_of(runs, MADE.first_line)


def figures_of(record: Record, names: Sequence[str]) -> dict[str, float]:
    """Some columns of one run."""
    rows = columns_of(record)
    return {name: float(rows[name][0]) for name in names}
