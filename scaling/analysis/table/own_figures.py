"""The figures that a workload makes itself, of all its workers together.

How they are put together is in their names, beside the unit: `settle_max_s` is the largest,
`wakeups_total` the sum, everything else the mean of the workers that have it.
"""

import math
from collections.abc import Sequence

from scaling.journal.record import Record


def own_figures(records: Sequence[Record | None]) -> list[dict[str, float]]:
    """A dict for each record, name to figure; empty where there are none."""
    return [_merged(record) if record is not None else {} for record in records]


def _merged(record: Record) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for worker in record.workers:
        for name, value in worker.figures.items():
            values.setdefault(name, []).append(value)
    return {name: _together(name, every) for name, every in values.items()}


def _together(name: str, values: list[float]) -> float:
    words = name.split("_")
    if "max" in words:
        return max(values)
    total = math.fsum(values)
    return total if "total" in words else total / len(values)
