"""The columns of `scaling.load(…)`: name, dtype, unit and definition.

A run that has no value for a column has NaN (numbers) or None (words): the run failed, the system
does not report it, or there is no such thing for a run of its kind. The window of a finite run is
its release to its finish.
"""

from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

from scaling.analysis.column import COUNT, NUMBER, OBJECT, Column, where
from scaling.analysis.rows import Rows
from scaling.analysis.table.generator import DECLINED, GENERATOR, ROOMS
from scaling.analysis.table.latency import LATENCY
from scaling.analysis.table.processes import (
    COLLECTOR_AND_THREADS,
    GIL_AND_ALLOCATOR,
    SERVICE_USE,
    SHARED,
)
from scaling.analysis.table.run_fields import (
    JUDGED,
    MEMORY,
    OWN_FIGURES,
    REQUESTED,
    SURROUNDINGS,
    unit_of,
)
from scaling.analysis.table.steadiness import STEADINESS
from scaling.analysis.table.ticks import BUSY, COUNTED, FAIRNESS, FAULTS, LAG
from scaling.analysis.table.time_terms import TIME_TERMS

# In the order of the columns.
GROUPS = (
    REQUESTED,
    JUDGED,
    COUNTED,
    LAG,
    FAIRNESS,
    BUSY,
    STEADINESS,
    OWN_FIGURES,
    where("has_latencies", LATENCY),
    where("has_load", GENERATOR),
    where("has_load", DECLINED),
    where("has_load", ROOMS),
    SHARED,
    SERVICE_USE,
    FAULTS,
    GIL_AND_ALLOCATOR,
    MEMORY,
    COLLECTOR_AND_THREADS,
    TIME_TERMS,
    SURROUNDINGS,
)
PATHS = {
    column.read for group in GROUPS for column in group.values() if isinstance(column.read, str)
}


def _fields(rows: Rows) -> dict[str, Sequence[Any]]:
    """The fields of the runs' lines that are columns, all of a run at once: a look at every run for
    each of them takes several times as long.
    """
    return dict(zip(PATHS, zip(*map(attrgetter(*PATHS), rows.runs), strict=True), strict=True))


FIELDS = {
    "fields": Column(
        read=_fields,
        dtype=OBJECT,
        definition="the columns that are fields of a run's line, by path",
        in_frame=False,
    )
}
EVERY: dict[str, Column] = {
    name: replace(column, unit=column.unit or unit_of(name))
    for group in (*GROUPS, FIELDS)
    for name, column in group.items()
}

COLUMNS = {name: column for name, column in EVERY.items() if column.in_frame}

IDENTITY = ("workers", "block", "position", "attempt")  # numbers that measure nothing
MEASURES = {
    name: column
    for name, column in COLUMNS.items()
    if column.dtype in (NUMBER, COUNT) and name not in IDENTITY
}
SHOWN = {
    name: column
    for name, column in sorted(
        MEASURES.items(), key=lambda each: each[1].shown.place if each[1].shown else 0
    )
    if column.shown
}
