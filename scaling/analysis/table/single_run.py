"""One run judged by itself, as the driver needs it to know what must be run again.

The frame judges the same way, many runs at a time. What shows only between runs of one cell
(`mixed-allocator-state`) is no reason to run any of them again: the cell has two states.
"""

from collections.abc import Callable

from scaling.analysis.table.batches import batch_of, expectations
from scaling.analysis.validity import judge
from scaling.journal.record import RunLine, StudyLine


def judge_of(study: StudyLine) -> Callable[[RunLine], str | None]:
    """A judge of the study's runs: says why a run is invalid, None where it is not."""
    expected = expectations(study)

    def invalid(run: RunLine) -> str | None:
        (findings,) = judge(batch_of([run], expected))
        told = [f"{each.word} ({each.detail})" for each in findings if each.severity == "invalid"]
        return "; ".join(told) or None

    return invalid
