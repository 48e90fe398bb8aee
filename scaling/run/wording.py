"""What is printed of a run and of a block, in a line each."""

import math

from scaling.analysis.statistics.precision_forecast import expected_half_width
from scaling.analysis.table.latency import histograms_of, summary
from scaling.analysis.table.ticks import throughputs
from scaling.base.formats import number
from scaling.base.vocabulary import WORKER, WORKERS
from scaling.journal.record import Cell, RunLine
from scaling.run.time_left import Left
from scaling.study.presets import DEFAULT_PRESET, FEWEST_FOR_INTERVAL, PRESETS


def run_in_words(cell: Cell) -> str:
    """Name a cell: `echo · uvloop · 3.14t · 2 threads · weak`."""
    noun = (WORKERS if cell.workers > 1 else WORKER).get(cell.model, cell.model)
    parts = [cell.workload, cell.loop, cell.arm, f"{cell.workers} {noun}"]
    return " · ".join([*parts, *([cell.sizing] if cell.sizing != "weak" else [])])


def figure_of(line: RunLine, operation: str) -> str:
    """A run's throughput with its unit, in an open loop its latency; or why there is none."""
    if line.outcome == "measured":
        latency = _at_rate(line, operation)
        if latency is not None:
            return latency
        throughput = float(throughputs([line.record])[0])
        return f"{number(throughput)} {operation}/s"
    return f"{line.outcome}: {_cause(line)}"


def _at_rate(line: RunLine, operation: str) -> str | None:
    """`P99 3.2 ms at 1,000 requests/s`, P50 if there were few; None if not in an open loop."""
    if line.load is None or line.load.rate_per_s is None:
        return None
    found = summary(histograms_of(line))
    for words, name in (("P99", "latency_p99_s"), ("P50", "latency_p50_s")):
        if name in found:
            rate = number(line.load.rate_per_s)
            return f"{words} {number(1e3 * found[name])} ms at {rate} {operation}/s"
    return None


def block_in_words(done: int, planned: int, left: Left, scatter: float, figure: str = "") -> str:
    """`block 1 of 8 done · 9 min 20 s left · 8 blocks: ratios to about ±2.1 %`.

    A study too short for intervals gets the precision of the default preset. `scatter` is that of
    the A/A pairs, NaN where there are none; `figure` names what it is of, if not throughput.
    """
    parts = [f"block {done} of {planned} done", str(left)]
    blocks = planned if planned >= FEWEST_FOR_INTERVAL else PRESETS[DEFAULT_PRESET].blocks
    width = expected_half_width(scatter, blocks)
    if math.isfinite(width):
        ratios = f"{figure} ratios about" if figure else "ratios to about"
        parts.append(f"{blocks} blocks: {ratios} ±{100 * width:.2g} %")
    return " · ".join(parts)


def _cause(line: RunLine) -> str:
    if line.record is not None and line.record.failure is not None:
        failure = line.record.failure
        return f"{failure.error} (in {failure.phase})"
    if line.outcome == "timed-out":
        return f"not over after {number(line.elapsed_s or math.nan)} s"
    if line.signal is not None:
        return f"ended by signal {line.signal}"
    last = line.stderr.strip().rpartition("\n")[2]
    return last or f"exit code {line.exit_code}"
