"""What cannot be run: the plan gives the reason, before anything crashes."""

from collections.abc import Mapping

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

# ---------------------------------------------------------------------------------------- in flight
# How much work a cell has in flight, by its sizing.


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
    """`2 or 1 connections`: what workers have in flight where it does not divide; else empty."""
    each, rest = divmod(in_flight or 0, cell.workers)
    return f"{each + 1} or {each} {(facts.in_flight or '').replace('_', ' ')}" if rest else ""


def most_workers(study: Study, workload: str) -> int:
    """The largest number of workers that a settled study has of a workload."""
    entries = (entry for entry in study.workloads if entry.name == workload)
    return max(count for entry in entries for count in entry.counts)


# -------------------------------------------------------------------------------------- held memory
# What workloads keep in memory: how much a cell needs, and whether the machine has it.
#
# A cell that needs more would swap, or be killed by the kernel, and so would what runs beside it.

GIB = 1 << 30
MOST = 0.8  # of the machine's memory; the rest is for all else


def held_bytes(facts: WorkloadFacts, cell: Cell, parameters: Mapping[str, ParameterValue]) -> int:
    """What a cell keeps in memory at most; `parameters` are as its arm changes them."""
    if facts.holds is None:
        return 0
    copies = _copies(facts.holds, cell, parameters)
    return copies * _copy_bytes(facts, facts.holds, parameters)


def too_much_memory(
    facts: WorkloadFacts,
    cell: Cell,
    parameters: Mapping[str, ParameterValue],
    memory_bytes: float,
) -> str | None:
    """Why the cell cannot run on a machine with so much memory; None where it can."""
    limit = MOST * memory_bytes
    if facts.holds is None or held_bytes(facts, cell, parameters) <= limit:
        return None
    copies = _copies(facts.holds, cell, parameters)
    each = _copy_bytes(facts, facts.holds, parameters)
    return (
        f"{plural(cell.workers, 'worker')}: the {facts.holds.what} needs up to "
        f"{_gib(copies * each)} ({copies} × {_gib(each)}), and the limit is {_gib(limit)}, "
        f"{percent(MOST)} of the memory here"
    )


def _gib(size_bytes: float) -> str:
    return f"{number(size_bytes / GIB)} GiB"


def _copies(holds: Holds, cell: Cell, parameters: Mapping[str, ParameterValue]) -> int:
    """How many there are once every worker has read all of it; a parent keeps the first one."""
    if holds.in_service and holds.in_service.items() <= dict(parameters).items():
        return 1
    if holds.own_copies and holds.own_copies.items() <= dict(parameters).items():
        return cell.workers
    if cell.model == "interpreters":
        return cell.workers
    return (processes_of(cell.model, cell.workers) or 1) + model_of(cell.model).forks


def _copy_bytes(
    facts: WorkloadFacts, holds: Holds, parameters: Mapping[str, ParameterValue]
) -> int:
    def value(name: str) -> ParameterValue:
        return parameters.get(name, facts.parameters[name].default)

    count, kind = value(holds.count), value(holds.by)
    return int(count or 0) * holds.bytes_each[str(kind)]


# --------------------------------------------------------------------------------------- open files
# Open files, sockets included: how many a cell needs in one process, and whether it may have them;
# and ports for its connections.
#
# Children and services raise their own limit as far as the system allows. A cell that needs more
# would fail during the run with "too many open files".

PROCESS = 50  # of any process: standard streams, lines to driver and host, what an import has open
EACH_PORT = "port"  # each worker listens on its own
ADDRESSES = 250  # 127.0.0.1 to 127.0.0.250, which the load generator connects from
WORKER = 12  # of one by itself: selector, wake-up pair, ends of its line, listener, a connection


def open_files_needed(facts: WorkloadFacts, cell: Cell, in_flight: int | None) -> int:
    """The most that one process of the cell needs: the child's, a worker's or a service's.

    `in_flight` is the work in flight over all workers. Threads and sub-interpreters share one
    process; a service has the other ends of the connections of all workers that it serves, a load
    generator of all there are.
    """
    together = cell.workers if facts.served else workers_each(cell.model, cell.workers)
    for name in facts.services:
        if name in SERVICES:
            together = max(together, min(cell.workers, SERVICES[name].workers_each))
    held = max(facts.descriptors, 1) if facts.served else facts.descriptors
    each = -(-(in_flight or 0) // cell.workers) * held
    return PROCESS + together * (WORKER + each)


def too_many_open_files(
    facts: WorkloadFacts, cell: Cell, in_flight: int | None, limit: int | None
) -> str | None:
    """Why the cell cannot run where a process may open `limit` files; None where it can."""
    needed = open_files_needed(facts, cell, in_flight)
    if limit is None or needed <= limit:
        return None
    return (
        f"{plural(cell.workers, 'worker')}: {needed:,} open files needed in one process, and this "
        f"system allows {limit:,} (ulimit -Hn)"
    )


def too_few_ports(
    facts: WorkloadFacts, cell: Cell, in_flight: int | None, ports: int | None
) -> str | None:
    """Why connections cannot be made where an address has so many `ports`; None where they can.

    A load generator has one connection from a port of an address to a port of a server. To rooms it
    connects from `ADDRESSES` of the loopback range, else from one.
    """
    if ports is None or not facts.served:
        return None
    to_one = in_flight or 0
    if cell.parameters.get("accept", EACH_PORT) == EACH_PORT:
        to_one = -(-to_one // cell.workers)
    addresses = ADDRESSES if ROOM in cell.parameters else 1
    if to_one <= ports * addresses:
        return None
    return (
        f"{plural(cell.workers, 'worker')}: {to_one:,} connections needed to one port, and this "
        f"system allows {ports * addresses:,} (net.ipv4.ip_local_port_range, "
        f"{addresses} of its addresses)"
    )


def too_many_connections(facts: WorkloadFacts, cell: Cell, in_flight: int | None) -> str | None:
    """Why the load generator does not make so many connections; None if it does."""
    most = facts.parameters[facts.in_flight].at_most if facts.served and facts.in_flight else None
    if most is None or in_flight is None or in_flight <= most:
        return None
    return (
        f"{plural(cell.workers, 'worker')}: {in_flight:,} connections, and the load generator "
        f"makes {most:,.0f} at most"
    )


# ----------------------------------------------------------------------------------------- refusals


def refusal(description: Description, cell: Cell) -> str | None:
    """Why the environment cannot run a cell, as its arm changes it; None if it can."""
    facts = description.workloads.get(cell.workload)
    if facts is None:
        return "this build's environment does not have the workload"
    if facts.refused is not None:
        return facts.refused
    without = _without_service(facts, cell.parameters, description.packages)
    if without is not None:
        return without
    for what, name, offers in (
        ("model", kind_of(cell.model), description.models),
        ("loop", cell.loop, description.loops),
    ):
        if name not in offers:
            return f"this build's environment does not have the {what} {name}"
        reason = offers[name].refused
        if reason is not None:
            return reason
    given = dict(cell.parameters).items()
    for each in facts.refusals:
        is_of = (each.model, each.loop) == (kind_of(cell.model), cell.loop)
        if is_of and each.parameters.items() <= given:
            when = ", ".join(f"{name}={value}" for name, value in each.parameters.items())
            return f"{when}: {each.reason}" if when else each.reason
    return _against_dealing_out(facts, cell.parameters) if cell.sizing == "strong" else None


def _without_service(
    facts: WorkloadFacts, parameters: Mapping[str, ParameterValue], packages: Mapping[str, str]
) -> str | None:
    """Why a service that it needs cannot be had; None if all can."""
    unknown = [name for name in facts.services if name not in SERVICES]
    if unknown:
        return f"it needs a service {unknown[0]!r}; there are: {', '.join(SERVICES)}"
    needed = filter(None, (*beside(facts.services, parameters), in_front(parameters)))
    reasons = (SERVICES[name].missing(packages) for name in needed)
    return next(filter(None, reasons), None)


def too_few_for_each(facts: WorkloadFacts, cell: Cell) -> str | None:
    """Why what all workers divide is not enough for one each; None if it is."""
    if facts.divided is None:
        return None
    total, each = facts.divided
    amount = cell.parameters.get(total)
    if cell.parameters.get(each) or not isinstance(amount, int) or amount >= cell.workers:
        return None
    return f"{total}={amount} cannot be divided among {cell.workers} workers: raise {total}"


def unfit_for_rooms(cell: Cell, in_flight: int | None) -> str | None:
    """Why so many connections cannot be in rooms; None if they can."""
    room, stalled = map(cell.parameters.get, (ROOM, STALLED))
    if not isinstance(room, int) or in_flight is None:
        return None
    rooms, rest = divmod(in_flight, room)
    if rest:
        return (
            f"{plural(cell.workers, 'worker')}: {plural(in_flight, 'connection')} cannot be in "
            f"rooms of {room:,}: change connections or {ROOM}"
        )
    if isinstance(stalled, int) and stalled > (rooms if room > 1 else 0):
        return (
            f"{plural(cell.workers, 'worker')}: {STALLED}={stalled} needs as many rooms, with a "
            f"member that reads in each, and there are {rooms:,} of {room:,}"
        )
    return None


def _against_dealing_out(
    facts: WorkloadFacts, parameters: Mapping[str, ParameterValue]
) -> str | None:
    """Why work in flight cannot be divided among the workers, as strong sizing does."""
    if facts.in_flight is None:
        return "strong sizing divides work in flight, and this workload has no parameter for it"
    for each in facts.uneven:
        if each.parameters.items() <= dict(parameters).items():
            when = "".join(f"{name}={value}: " for name, value in each.parameters.items())
            return f"{when}strong sizing divides work in flight, and {each.reason}"
    return None
