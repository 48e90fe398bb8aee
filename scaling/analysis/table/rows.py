"""The columns of some runs, each computed when it is first needed; and what judges a single run."""

from collections.abc import Callable
from typing import Any

import numpy as np

from scaling.analysis.table.column import SomeRuns, expectations
from scaling.analysis.table.columns import EVERY
from scaling.journal.record import RunLine, StudyLine


class Rows(SomeRuns):
    """Columns by name, one value for each of `runs`: arrays of numbers and flags, lists of others.

    Those that only serve to judge runs are among them.
    """

    def __missing__(self, name: str) -> Any:
        column = EVERY[name]
        values = column.read(self)
        self[name] = found = np.asarray(values, column.dtype) if column.is_array else values
        return found


def busy_judge_of(study: StudyLine) -> Callable[[RunLine], str | None]:
    """A judge of the study's runs: what others took of the machine, None where it was quiet."""
    expected = expectations(study)

    def why_busy(run: RunLine) -> str | None:
        (findings,) = Rows([run], study, expected).findings
        return next((each.detail for each in findings if each.word == "machine-busy"), None)

    return why_busy


def judge_of(study: StudyLine) -> Callable[[RunLine], str | None]:
    """A judge of the study's runs: says why a run is invalid, None where it is not.

    It judges as the frame does, but for what shows only between runs of one cell
    (`scaling.analysis.table.marks`): two allocator states, or a generator that is late in most
    runs, are the cell's, and would be there again.
    """
    expected = expectations(study)

    def why_invalid(run: RunLine) -> str | None:
        (findings,) = Rows([run], study, expected).findings
        reasons = [
            f"{each.word} ({each.detail})" for each in findings if each.severity == "invalid"
        ]
        return "; ".join(reasons) or None

    return why_invalid
