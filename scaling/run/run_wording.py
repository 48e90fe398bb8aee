"""A run in a line: what was run, and the figure that came out or what went wrong instead."""

import math

from scaling.analysis.table.ticks import throughputs
from scaling.base.formats import number
from scaling.journal.record import Cell, RunLine


def run_in_words(cell: Cell) -> str:
    """Name a cell: `echo · uvloop · 3.14t · 2 threads · weak`."""
    model = cell.model if cell.workers > 1 else cell.model.rstrip("s")
    if cell.model == "processes" and cell.workers == 1:
        model = "process"
    parts = [cell.workload, cell.loop, cell.arm, f"{cell.workers} {model}"]
    return " · ".join([*parts, *([cell.sizing] if cell.sizing != "weak" else [])])


def figure_of(line: RunLine, operation: str) -> str:
    """Tell a run's throughput in its unit, or why there is none."""
    if line.outcome == "measured":
        throughput = float(throughputs([line.record])[0])
        return f"{number(throughput)} {operation}/s"
    return f"{line.outcome}: {_cause(line)}"


def _cause(line: RunLine) -> str:
    if line.record is not None and line.record.failure is not None:
        failure = line.record.failure
        return f"{failure.error} (in {failure.phase})"
    if line.outcome == "timed-out":
        return f"not over after {number(line.elapsed_s or math.nan)} s"
    if line.signal is not None:
        return f"ended by signal {line.signal}"
    told = line.stderr.strip().rpartition("\n")[2]
    return told or f"exit code {line.exit_code}"
