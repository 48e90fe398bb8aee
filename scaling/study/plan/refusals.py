"""Reasons a cell cannot be run, known before anything is started.

A check is a function that returns a reason, or None. Checks of an environment are made once for all
numbers of workers, checks of the machine for each cell.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from scaling.base.formats import number, percent, plural
from scaling.base.models import kind_of, model_of, processes_of, workers_each
from scaling.journal.record import (
    Cell,
    Description,
    Holds,
    ParameterValue,
    WorkloadFacts,
    WorkloadNote,
)
from scaling.study.definition import Study
from scaling.study.load import ROOM, STALLED
from scaling.study.services import SERVICES, beside, in_front


class Limits(NamedTuple):
    """Limits of a machine: open files of a process, ports of an address, bytes of memory.

    `ports` is the number of connections from one address to one port of another. None: no limit.
    """

    open_files: int | None = None
    ports: int | None = None
    memory_bytes: float = math.inf


NO_LIMITS = Limits()


class Candidate(NamedTuple):
    """A cell that a study asks for, with the facts that the checks need.

    `parameters` are the cell's as its arm changes them, `in_flight` is the work over all workers.
    """

    cell: Cell
    facts: WorkloadFacts
    parameters: Mapping[str, ParameterValue]
    in_flight: int | None = None
    limits: Limits = NO_LIMITS

    @property
    def in_flight_each(self) -> int:
        """The most that a worker has in flight."""
        return -(-(self.in_flight or 0) // self.cell.workers)


# ---------------------------------------------------------------------------------------- in flight
# The work that a cell has in flight, by its sizing.


def in_flight(facts: WorkloadFacts | WorkloadNote, cell: Cell, most_workers: int) -> int | None:
    """Work in flight over all workers; None where the workload has no parameter for it.

    `weak`: the parameter for each worker. `strong`: what `weak` has at `most_workers`, the
    workload's largest number of them, whatever the cell's own.
    """
    each = cell.parameters.get(facts.in_flight) if facts.in_flight is not None else None
    if not isinstance(each, int):
        return None
    return each * (cell.workers if cell.sizing == "weak" else most_workers)


def uneven_shares(facts: WorkloadFacts | WorkloadNote, cell: Cell, in_flight: int | None) -> str:
    """`2 or 1 connections`: work in flight that cannot be divided evenly; else empty."""
    each, rest = divmod(in_flight or 0, cell.workers)
    return f"{each + 1} or {each} {(facts.in_flight or '').replace('_', ' ')}" if rest else ""


def most_workers(study: Study, workload: str) -> int:
    """The largest number of workers that a settled study has of a workload."""
    entries = (entry for entry in study.workloads if entry.name == workload)
    return max(count for entry in entries for count in entry.counts)


# --------------------------------------------------------------------------------------- of machine


def unfit_here(each: Candidate) -> str | None:
    """Reason why the machine cannot run a cell, or None."""
    if reason := too_few_for_each(each):
        return reason
    reason = next(filter(None, (check(each) for check in OF_MACHINE)), None)
    return reason and f"{plural(each.cell.workers, 'worker')}: {reason}"


def too_few_for_each(each: Candidate) -> str | None:
    """Reason why what all workers divide is less than one each, or None."""
    if each.facts.divided is None:
        return None
    given = each.cell.parameters
    total, own = each.facts.divided
    amount, workers = given.get(total), each.cell.workers
    if given.get(own) or not isinstance(amount, int) or amount >= workers:
        return None
    return f"{total}={amount} cannot be divided among {workers} workers: raise {total}"


def unfit_for_rooms(each: Candidate) -> str | None:
    """Reason why connections cannot be in rooms, or None.

    They fill rooms of one size. A room with a member that stalls needs a member that reads.
    """
    room, stalled = map(each.cell.parameters.get, (ROOM, STALLED))
    if not isinstance(room, int) or each.in_flight is None:
        return None
    rooms, rest = divmod(each.in_flight, room)
    if rest:
        return (
            f"{plural(each.in_flight, 'connection')} cannot be in rooms of {room:,}: change "
            f"connections or {ROOM}"
        )
    if isinstance(stalled, int) and stalled > (rooms if room > 1 else 0):
        return (
            f"{STALLED}={stalled} needs as many rooms of two members or more, and there are "
            f"{rooms:,} of {room:,}"
        )
    return None


def too_many_connections(each: Candidate) -> str | None:
    """Reason why the load generator cannot make the connections, or None."""
    facts = each.facts
    most = facts.parameters[facts.in_flight].at_most if facts.served and facts.in_flight else None
    if most is None or (each.in_flight or 0) <= most:
        return None
    return f"{each.in_flight:,} connections, and the load generator makes at most {most:,.0f}"


# Open files, sockets included. Children and services raise their own limit as far as the system
# allows. A cell that needs more open files would fail during the run.
PROCESS = 50  # of any process: standard streams, pipes to driver and host, files of imports
WORKER = 12  # of a worker: selector, wake-up pair, ends of its pipe, listener, a connection


def open_files_needed(each: Candidate) -> int:
    """The most open files of one process of the cell: the child's, a worker's or a service's.

    Threads and sub-interpreters share one process. A service has the other ends of the connections
    of all workers that it serves, a load generator of all workers.
    """
    cell, facts = each.cell, each.facts
    together = cell.workers if facts.served else workers_each(cell.model, cell.workers)
    for service in filter(None, map(SERVICES.get, facts.services)):
        together = max(together, min(cell.workers, service.workers_each))
    held = max(facts.descriptors, 1) if facts.served else facts.descriptors
    return PROCESS + together * (WORKER + each.in_flight_each * held)


def too_many_open_files(each: Candidate) -> str | None:
    """Reason why a process cannot have as many open files as the cell needs, or None."""
    needed, limit = open_files_needed(each), each.limits.open_files
    if limit is None or needed <= limit:
        return None
    return (
        f"{needed:,} open files needed in one process, and this system allows {limit:,} (ulimit "
        f"-Hn)"
    )


EACH_PORT = "port"  # each worker listens on its own
ADDRESSES = 250  # 127.0.0.1 to 127.0.0.250, which the load generator connects from


def too_few_ports(each: Candidate) -> str | None:
    """Reason why the system has too few ports for the connections, or None.

    A load generator makes one connection from each port of an address to a port of a server. It
    has `ADDRESSES` of the loopback range for rooms, else one.
    """
    ports, given = each.limits.ports, each.cell.parameters
    if ports is None or not each.facts.served:
        return None
    has_ports = given.get("accept", EACH_PORT) == EACH_PORT
    to_one = each.in_flight_each if has_ports else each.in_flight or 0
    addresses = ADDRESSES if ROOM in given else 1
    if to_one <= ports * addresses:
        return None
    return (
        f"{to_one:,} connections needed to one port, and this system allows "
        f"{ports * addresses:,} (net.ipv4.ip_local_port_range, {addresses} of its addresses)"
    )


# Data that workloads keep in memory. A cell that needs more than the machine has would swap or be
# killed by the kernel, and so would other programs.
GIB = 1 << 30
MOST = 0.8  # of the machine's memory; the rest is for all else


def too_much_memory(each: Candidate) -> str | None:
    """Reason why the machine lacks the memory for the data of a cell, or None."""
    limit = MOST * each.limits.memory_bytes
    copies, copy_bytes = _held(each)
    if held_bytes(each) <= limit or each.facts.holds is None:
        return None
    whole, one, most = (f"{number(n / GIB)} GiB" for n in (held_bytes(each), copy_bytes, limit))
    return (
        f"the {each.facts.holds.what} needs up to {whole} ({copies} × {one}), and the limit is "
        f"{most}, {percent(MOST)} of the memory here"
    )


def held_bytes(each: Candidate) -> int:
    """The most bytes of data that a cell keeps in memory."""
    copies, copy_bytes = _held(each)
    return copies * copy_bytes


def _held(each: Candidate) -> tuple[int, int]:
    """The number of copies of its data that a cell keeps, and the bytes of one."""
    holds = each.facts.holds
    if holds is None:
        return 0, 0
    count, kind = (
        each.parameters.get(name, each.facts.parameters[name].default)
        for name in (holds.count, holds.by)
    )
    return _copies(holds, each), int(count or 0) * holds.bytes_each[str(kind)]


def _copies(holds: Holds, each: Candidate) -> int:
    """The number of copies once every worker has read all data; a parent keeps the first."""
    cell, given = each.cell, dict(each.parameters).items()
    if holds.in_service and holds.in_service.items() <= given:
        return 1
    has_own = holds.own_copies and holds.own_copies.items() <= given
    if has_own or cell.model == "interpreters":
        return cell.workers
    return (processes_of(cell.model, cell.workers) or 1) + model_of(cell.model).forks


type Check = Callable[[Candidate], str | None]
OF_MACHINE: tuple[Check, ...] = (
    unfit_for_rooms,
    too_many_connections,
    too_many_open_files,
    too_few_ports,
    too_much_memory,
)


# ----------------------------------------------------------------------------------- of environment


def refusal(description: Description, cell: Cell) -> str | None:
    """Reason why the environment cannot run a cell, as its arm changes it, or None."""
    facts = description.workloads.get(cell.workload)
    if facts is None:
        return "this build's environment does not have the workload"
    return next(filter(None, _reasons(description, facts, cell)), None)


def _reasons(description: Description, facts: WorkloadFacts, cell: Cell) -> Iterator[str | None]:
    yield facts.refused
    yield from _services_missing(facts, cell.parameters, description.packages)
    kind, given = kind_of(cell.model), dict(cell.parameters).items()
    offered = (("model", kind, description.models), ("loop", cell.loop, description.loops))
    for what, name, offers in offered:
        absent = f"this build's environment does not have the {what} {name}"
        yield offers[name].refused if name in offers else absent
    for each in facts.refusals:
        if (each.model, each.loop) == (kind, cell.loop) and each.parameters.items() <= given:
            when = ", ".join(f"{name}={value}" for name, value in each.parameters.items())
            yield f"{when}: {each.reason}" if when else each.reason
    if cell.sizing == "weak":
        return
    if facts.in_flight is None:
        yield "strong sizing divides work in flight, and this workload has no parameter for it"
    for uneven in facts.uneven:
        if uneven.parameters.items() <= given:
            when = "".join(f"{name}={value}: " for name, value in uneven.parameters.items())
            yield f"{when}strong sizing divides work in flight, and {uneven.reason}"


def _services_missing(
    facts: WorkloadFacts, parameters: Mapping[str, ParameterValue], packages: Mapping[str, str]
) -> Iterator[str | None]:
    """Reasons why services of a workload are not available."""
    for name in facts.services:
        if name not in SERVICES:
            yield f"unknown service {name!r}; there are: {', '.join(SERVICES)}"
    for name in filter(None, (*beside(facts.services, parameters), in_front(parameters))):
        yield SERVICES[name].missing(packages)
