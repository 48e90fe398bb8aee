"""The figures that a workload makes itself: how their names say what they are.

A name ends in its unit, as `settle_s` and `overhead_ns_per_op` do. The figure of a run is the mean
of the workers that have it; of a name with the word `max` in it the largest (`settle_max_s`), of
one with `total` the sum, which is a count (`wakeups_total`).
"""

import math
from collections.abc import Sequence

from scaling.analysis.table.column import OBJECT, Column, SomeRuns
from scaling.journal.record import Record

UNITS = {"ns": "ns", "us": "µs", "ms": "ms", "s": "s", "bytes": "B", "kib": "KiB", "mib": "MiB"}
COUNT = "total"
CONNECTIONS = "connections_total"  # of a served workload: the connections that a worker took
SPELT = {"http": "HTTP", "littles": "Little's", "cpu": "CPU", "gc": "GC", "io": "I/O"}


def unit_of(name: str) -> str:
    """`s` for `settle_max_s`, `ns/op` for `overhead_ns_per_op`; empty for a count."""
    return _read(name)[1]


def readable(name: str) -> str:
    """What is measured, without its unit: `settle max`, `overhead`, `Little's law`, `ok`."""
    return " ".join(SPELT.get(word, word) for word in _read(name)[0] if word != COUNT)


def is_count(name: str) -> bool:
    """Whether it is a sum over all workers, and no time or size."""
    return COUNT in name.split("_") and not unit_of(name)


def _read(name: str) -> tuple[list[str], str]:
    """The words of a name, and the unit that they end in."""
    words = name.split("_")
    if "per" in words[1:-1]:
        place = words.index("per", 1)
        each = " ".join(words[place + 1 :])
        unit = UNITS.get(words[place - 1])
        return (words[: place - 1], f"{unit}/{each}") if unit else (words[:place], f"/{each}")
    if words[-1] in UNITS:
        return words[:-1], UNITS[words[-1]]
    return words, ""


def own_figures(records: Sequence[Record | None]) -> list[dict[str, float]]:
    """A dict for each record, name to figure; empty where there are none."""
    return [_merged(record) if record is not None else {} for record in records]


def _of_rows(rows: SomeRuns) -> list[dict[str, float]]:
    if not rows.any_worker_has("figures"):
        return [{}] * len(rows.runs)
    return own_figures(rows.records)


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


OWN_FIGURES = {
    "figures": Column(
        read=_of_rows,
        dtype=OBJECT,
        definition="the workload's own figures, a dict: mean of the workers, `_max` max, `_total` "
        "sum",
    ),
}
