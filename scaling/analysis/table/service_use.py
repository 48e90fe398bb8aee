"""Columns of what is around the workers: proxy, connection pooler, database, cache.

CPU time is that of all their processes in the window. NaN where a run has no such service, and
where it is one that the user has installed.
"""

from collections.abc import Callable

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.table.column import Column, Read, Shown, SomeRuns
from scaling.journal.record import RunLine, ServiceUse
from scaling.study.services import SERVICES

ROLES = {"proxy": "nginx", "pooler": "pgbouncer", "database": "postgres", "cache": "valkey"}
CPU_OF_SERVICES = tuple(f"{role}_cpu_s_per_op" for role in ROLES)
POOLED = ("pooler", "database", "cache")  # those whose connections are limited
KEEPING = (ROLES["database"], ROLES["cache"])
CAN_ASK = {each.asked_by for each in SERVICES.values() if each.fresh}


def _of(service: str, figure: Callable[[ServiceUse], float | None]) -> Read:
    def read(rows: SomeRuns) -> Floats:
        uses = [run.services.get(service) for run in rows.runs]
        found = [None if use is None else figure(use) for use in uses]
        return np.array([np.nan if each is None else each for each in found], np.float64)

    return read


def _per_operation(read: Read) -> Read:
    def divided(rows: SomeRuns) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(rows["operations"] > 0, read(rows) / rows["operations"], np.nan)

    return divided


def _columns(role: str, service: str, place: int) -> dict[str, Column]:
    columns = {
        f"{role}_cpu_s_per_op": Column(
            read=_per_operation(_of(service, lambda use: use.window_cpu_s)),
            unit="s",
            definition=f"CPU time of {service} (all its processes) in the window ÷ operations",
            words=f"CPU time of the {role} per request",
            better="less",
            noise="cpu_s_per_op",
            shown=Shown(
                heading=f"{role} µs CPU", name=f"{role}_cpu_us_per_op", factor=1e6, place=place
            ),
        ),
        f"{role}_bytes": Column(
            read=_of(service, lambda use: use.memory_bytes),
            unit="B",
            definition=f"memory of {service} at the window's end; what its processes share counts "
            "once",
            better="less",
            noise="PSS",
            shown=Shown(
                heading=f"{role} MiB",
                name=f"{role}_mib",
                factor=2.0**-20,
                place=place + 1,
                extra=True,
            ),
        ),
    }
    if role in POOLED:
        columns[f"{role}_connections"] = Column(
            read=_of(service, lambda use: use.connections),
            definition=f"connections of clients to {service} at the window's end",
            shown=Shown(
                heading=f"{role} connections",
                name=f"{role}_connections",
                place=place + 2,
                extra=True,
            ),
        )
    return columns


def _of_all(rows: SomeRuns) -> Floats:
    """CPU s per operation of the workers and of what is around them, as far as they are there.

    NaN where nothing can be around them, and where a database or cache is a user's own.
    """
    around = np.array([rows[name] for name in CPU_OF_SERVICES])
    known = np.array([_is_known(run) for run in rows.runs], np.bool_)
    return np.where(known, rows["cpu_s_per_op"] + np.nansum(around, axis=0), np.nan)


def _is_known(run: RunLine) -> bool:
    kept = [use for name, use in run.services.items() if name in KEEPING]
    if not kept:
        return not run.services and not CAN_ASK.isdisjoint(run.cell.parameters)
    return all(use.window_cpu_s is not None for use in kept)


SERVICE_USE = {
    name: column
    for number, (role, service) in enumerate(ROLES.items())
    for name, column in _columns(role, service, 121 + 3 * number).items()
} | {
    "stack_cpu_s_per_op": Column(
        read=_of_all,
        unit="s",
        definition="CPU time in the window ÷ operations of workers, proxy, pooler, database and "
        "cache together, as far as they are there; NaN where no database or cache can be",
        words="CPU time of a request in all parts",
        better="less",
        noise="cpu_s_per_op",
        shown=Shown(heading="stack µs CPU", name="stack_cpu_us_per_op", factor=1e6, place=119),
    )
}
