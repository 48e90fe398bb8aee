"""Columns of a run's processes: what the workers' report, and what services beside them use.

Where these share the cores with the workers, that bounds what N workers can gain.
"""

import math
from collections.abc import Callable
from functools import cache
from operator import attrgetter

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.column import FLAG, WORD, Column, Read, Shown, where
from scaling.analysis.rows import Rows
from scaling.analysis.stacks import NS_PER_S
from scaling.base.models import workers_each
from scaling.journal.record import GilStates, Machine, RunLine, ServiceUse
from scaling.study.services import SERVICES

# -------------------------------------------------------------------------------------- process cpu
# CPU time of all threads of a run's processes: of the loops', and of any thread pool.


def process_cpu_s(run: RunLine, *, finite: bool = False) -> float:
    """In s, of all processes of the workers together; NaN where not every worker has read it.

    All workers of one process read the same counter, each at its own two moments. In a window the
    mean of their readings counts; of `finite` work the largest, which covers all of it, but for
    what one worker does in a round that another has finished.
    """
    workers = run.record.workers if run.record is not None else []
    uses = [each.use.process_cpu_ns if each.use else None for each in workers]
    read_ns = [each for each in uses if each is not None]
    if not read_ns or len(read_ns) < len(workers):
        return math.nan
    each = workers_each(run.cell.model, run.cell.workers)
    of_processes = (read_ns[at : at + each] for at in range(0, len(read_ns), each))
    return sum(max(few) if finite else sum(few) / len(few) for few in of_processes) / NS_PER_S


# ------------------------------------------------------------------------------------------ workers
# Facts that processes report of themselves: GIL, allocator, collector, threads.

# Per operation. A buffer that is mapped anew faults at least once per read.
MAPPING_FAULTS = 0.5


def allocator_state(minor_faults_per_op: float) -> str | None:
    """`mapping` or `keeping` (`scaling.analysis.table.marks`); None where faults are not known."""
    if minor_faults_per_op != minor_faults_per_op:
        return None
    return "mapping" if minor_faults_per_op >= MAPPING_FAULTS else "keeping"


def _gil_enabled(rows: Rows) -> list[bool | None]:
    states = np.array([_ever_on(each.gil) for each in rows.every_process])
    return [None if count != count else count > 0 for count in _total(rows, states).tolist()]


@cache
def _ever_on(gil: GilStates) -> float:
    """1 where it was on at any reading, else 0; NaN without one."""
    return float(max(gil.seen, default=np.nan))


def _counts(rows: Rows, name: str) -> Floats:
    """A count of each process; NaN where it is None."""
    return np.array(list(map(attrgetter(name), rows.every_process)), np.float64)


def _summed(name: str, unit: float = 1.0) -> Read:
    return lambda rows: _total(rows, _counts(rows, name)) / unit


def _os_threads(rows: Rows) -> Floats:
    # Sub-interpreters are in the process of their host, which counts the same threads.
    one_process = np.array([run.cell.model == "interpreters" for run in rows.runs], np.bool_)
    of_its_run = np.diff(rows.process_rows, prepend=-1) == 0  # but the first one
    threads = _counts(rows, "os_threads")
    return _total(rows, np.where(of_its_run & one_process[rows.process_rows], np.nan, threads))


def _start_s(rows: Rows) -> list[float | None]:
    warmup_s = float(rows.study.study.get("warmup_s") or 0.0)
    return [_started_in_s(run, warmup_s) for run in rows.runs]


def _started_in_s(run: RunLine, warmup_s: float) -> float | None:
    if run.record is None:
        return None
    instants = run.record.instants_ns
    if run.load is not None and instants.started is not None and instants.ready is not None:
        return (instants.ready - instants.started) / NS_PER_S  # its clients connect after that
    # In turn with others, the window opens when all of them are ready.
    started, opened = instants.started, instants.opened
    if run.record.in_slices:
        opened = instants.ready
    if started is None or opened is None:
        return None
    return (opened - started) / NS_PER_S - (0.0 if run.record.finite else warmup_s)


def _total(rows: Rows, values: Floats) -> Floats:
    """The sum over the processes of each run of what is known; NaN if nothing is."""
    known = np.isfinite(values)
    places, runs = rows.process_rows[known], len(rows.runs)
    total = np.bincount(places, values[known], runs)
    return np.where(np.bincount(places, minlength=runs) > 0, total, np.nan)


GIL_AND_ALLOCATOR = {
    "gil_enabled": Column(
        read=_gil_enabled,
        dtype="boolean",
        definition="whether the GIL was on in any process at any of the moments it was read",
    ),
    "allocator": Column(
        read=lambda rows: [every[0].allocator if every else None for every in rows.processes],
        dtype=WORD,
        definition="object allocator in use: mimalloc, pymalloc, malloc",
    ),
    "allocator_state": Column(
        read=lambda rows: list(map(allocator_state, rows["minor_faults_per_op"].tolist())),
        dtype=WORD,
        definition="keeping, or mapping: the kernel is asked for memory in every other op or more",
    ),
}

COLLECTOR_AND_THREADS = {
    "gc_collections": Column(
        read=_summed("gc_collections"),
        definition="garbage collections inside the window, all processes",
    ),
    "gc_pause_s": Column(
        read=_summed("gc_pause_ns", NS_PER_S),
        definition="time spent in them",
        better="less",
    ),
    "os_threads": Column(read=_os_threads, definition="OS threads of the child's processes"),
    "start_s": Column(
        read=_start_s,
        definition="start of the child to opening of the window, less warm-up; of a served run, "
        "until all workers answer",
        better="less",
    ),
}


# -------------------------------------------------------------------------------------- service use
# Columns of what is around the workers: proxy, connection pooler, database, cache, broker.
#
# CPU time is that of all their processes in the window. NaN where a run has no such service, and
# where it is one that the user has installed.

ROLES = {
    "proxy": "nginx",
    "pooler": "pgbouncer",
    "database": "postgres",
    "cache": "valkey",
    "broker": "broker",
}
CPU_OF_SERVICES = tuple(f"{role}_cpu_s_per_op" for role in ROLES)
POOLED = ("pooler", "database", "cache", "broker")  # those whose connections are limited
OF_USERS = (ROLES["database"], ROLES["cache"], ROLES["broker"])
CAN_ASK = {each.asked_by for each in SERVICES.values() if each.fresh}


def _of(service: str, figure: Callable[[ServiceUse], float | None]) -> Read:
    def read(rows: Rows) -> Floats:
        uses = [run.services.get(service) for run in rows.runs]
        return np.array([use and figure(use) for use in uses], np.float64)  # None is NaN

    return read


def per_operation(read: Read) -> Read:
    """Read a figure over the runs' operations; NaN where there were none."""

    def divided(rows: Rows) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(rows["operations"] > 0, read(rows) / rows["operations"], np.nan)

    return divided


def _columns(role: str, service: str, place: int) -> dict[str, Column]:
    columns = {
        f"{role}_cpu_s_per_op": Column(
            read=per_operation(_of(service, lambda use: use.window_cpu_s)),
            definition=f"CPU time of {service} (all its processes) in the window ÷ operations",
            better="less",
            noise="cpu_s_per_op",
            shown=Shown(f"{role} µs CPU", f"{role}_cpu_us_per_op", place, 1e6),
        ),
        f"{role}_bytes": Column(
            read=_of(service, lambda use: use.memory_bytes),
            definition=f"memory of {service} at the window's end; what its processes share counts "
            "once",
            better="less",
            noise="PSS",
            shown=Shown(f"{role} MiB", f"{role}_mib", place + 1, 2.0**-20),
        ),
    }
    if role in POOLED:
        columns[f"{role}_connections"] = Column(
            read=_of(service, lambda use: use.connections),
            definition=f"connections of clients to {service} at the window's end",
            shown=Shown(f"{role} connections", f"{role}_connections", place + 2),
        )
    return columns


def _of_all(rows: Rows) -> Floats:
    """CPU s per operation of the workers and of what is around them, as far as they are there.

    NaN where nothing can be around them, and where a database, cache or broker is a user's own.
    """
    around = np.array([rows[name] for name in CPU_OF_SERVICES])
    known = np.array([_is_known(run) for run in rows.runs], np.bool_)
    return np.where(known, rows["cpu_s_per_op"] + np.nansum(around, axis=0), np.nan)


def _is_known(run: RunLine) -> bool:
    kept = [use for name, use in run.services.items() if name in OF_USERS]
    if not kept:
        return not run.services and not CAN_ASK.isdisjoint(run.cell.parameters)
    return all(use.window_cpu_s is not None for use in kept)


SERVICE_USE = where(
    "has_services",
    {
        name: column
        for number, (role, service) in enumerate(ROLES.items())
        for name, column in _columns(role, service, 121 + 3 * number).items()
    },
) | {
    "stack_cpu_s_per_op": Column(
        read=_of_all,
        definition="CPU time in the window ÷ operations of workers, proxy, pooler, database, "
        "cache and broker together, as far as they are there; NaN where none of the last three can "
        "be",
        better="less",
        noise="cpu_s_per_op",
        shown=Shown("stack µs CPU", "stack_cpu_us_per_op", 119, 1e6),
    )
}


# ------------------------------------------------------------------------------------- shared cores

LEAST_OF_N = 0.9
IN_SERVER = {ROLES["cache"], ROLES["broker"]}


def usable_cores(machine: Machine) -> float:
    """The CPUs that the study may use: those of its affinity mask, less where a quota is; or NaN.

    SMT siblings count as cores: the bound is what can be reached at most.
    """
    cpus = machine.usable_cpus or machine.logical_cpus
    known = [float(each) for each in (cpus, machine.cpu_quota) if each is not None]
    return min(known, default=np.nan)


def gain_bound(
    workers: Floats, cores: Floats, server_s: Floats, generator_s: Floats, services_s: Floats
) -> Floats:
    """The most that N workers gain over one, by CPU s per request of each; arrays of one shape."""
    with np.errstate(divide="ignore", invalid="ignore"):
        bound = cores * server_s / (server_s + generator_s + services_s)
    return np.minimum(workers, bound)


def _bounds(rows: Rows) -> Floats:
    if not rows.has_load and not rows.has_services:
        return np.full(len(rows.runs), np.nan)
    usable = usable_cores(rows.study.machine)
    cores = np.array([_workers_cores(run, usable) for run in rows.runs])
    loads = [run.load for run in rows.runs]
    apart = np.array([bool(load and (load.cpus or load.elsewhere)) for load in loads], np.bool_)
    loaded = np.array([run.load is not None for run in rows.runs], np.bool_)
    generator_s = np.where(apart | ~loaded, 0.0, rows["generator_cpu_s_per_op"])
    services_s = _services_s(rows)
    workers = rows["workers"].astype(np.float64)
    bound = gain_bound(workers, cores, rows["cpu_s_per_op"], generator_s, services_s)
    beside = np.array([not IN_SERVER.isdisjoint(run.services) for run in rows.runs], np.bool_)
    return np.where(loaded | beside, bound, np.nan)


def _workers_cores(run: RunLine, usable: float) -> float:
    """The usable cores of the workers: without those that the generator had to itself."""
    if run.load is None or not run.load.cpus:
        return usable
    if run.load.worker_cpus:
        return min(usable, float(len(run.load.worker_cpus)))
    return usable - len(run.load.cpus)


def _services_s(rows: Rows) -> Floats:
    """CPU s of the services per request: of all in the window, or at least the busiest process."""
    in_window = [[use.window_cpu_s for use in run.services.values()] for run in rows.runs]
    busiest = [sum(use.busy_fraction or 0.0 for use in run.services.values()) for run in rows.runs]
    known = np.array([bool(each) and None not in each for each in in_window], np.bool_)
    whole = np.array([sum(used or 0.0 for used in each) for each in in_window])
    with np.errstate(divide="ignore", invalid="ignore"):
        per_request: Floats = whole / rows["operations"]
        at_least: Floats = np.array(busiest) / rows["throughput_per_s"]
    return np.where(known, per_request, at_least)


SHARED = {
    "gain_bound": Column(
        read=_bounds,
        definition="served, or with a cache in a server: what N workers gain over one at most, "
        "since load generator and services need CPU time, too: min(N, cores × κ ÷ (κ + γ + σ)), "
        "from CPU time per request of workers, generator and services",
    ),
    "shared_cores": Column(
        read=lambda rows: rows["gain_bound"] < LEAST_OF_N * rows["workers"],
        dtype=FLAG,
        definition="whether `gain_bound` is below 0.9 N: then CPU time per request is what to "
        "compare, not throughput",
    ),
}
