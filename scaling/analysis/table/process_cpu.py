"""CPU time of all threads of a run's processes: of the loops', and of any thread pool."""

import math

from scaling.analysis.table.stacks import NS_PER_S
from scaling.base.vocabulary import PROCESSES
from scaling.journal.record import RunLine


def process_cpu_s(run: RunLine, *, finite: bool = False) -> float:
    """In s, of all processes of the workers together; NaN where not every worker has read it.

    All workers of one process read the same counter, each at its own two moments. In a window the
    mean of their readings counts; of `finite` work the largest, which covers all of it.
    """
    workers = run.record.workers if run.record is not None else []
    uses = [each.use.process_cpu_ns if each.use else None for each in workers]
    read_ns = [each for each in uses if each is not None]
    if not read_ns or len(read_ns) < len(workers):
        return math.nan
    if run.cell.model in PROCESSES:
        return sum(read_ns) / NS_PER_S
    return (max(read_ns) if finite else sum(read_ns) / len(read_ns)) / NS_PER_S
