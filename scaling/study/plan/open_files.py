"""Open files, sockets included: how many a cell needs in one process, and whether it may have them.

Children and services raise their own limit as far as the system allows. A cell that needs more
would fail during the run with "too many open files".
"""

from scaling.base.formats import plural
from scaling.base.vocabulary import PROCESSES
from scaling.journal.record import Cell, WorkloadFacts
from scaling.study.services import SERVICES

PROCESS = 50  # of any process: standard streams, lines to driver and host, what an import has open
WORKER = 12  # of one by itself: selector, wake-up pair, ends of its line, listener, a connection


def open_files_needed(facts: WorkloadFacts, cell: Cell, in_flight: int | None) -> int:
    """The most that one process of the cell needs: the child's, a worker's or a service's.

    `in_flight` is the work in flight over all workers. Threads and sub-interpreters share one
    process; a service has the other ends of the connections of all workers that it serves, a load
    generator of all there are.
    """
    together = cell.workers if facts.served or cell.model not in PROCESSES else 1
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
