"""The columns of `scaling.load(…)`: name, dtype, unit and definition, here and nowhere else.

A run that has no value for a column has NaN (numbers) or None (words): the run failed, the system
cannot tell, or there is no such thing for a run of its kind. The window of a finite run is its
release to its finish.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Column:
    """What one column holds. `unit` is empty for words, flags and pure numbers."""

    dtype: str
    unit: str
    definition: str


WORD, COUNT, NUMBER, FLAG, THING = "category", "int64", "float64", "bool", "object"

COLUMNS: dict[str, Column] = {
    "study": Column(WORD, "", "name of the study that the run belongs to"),
    "machine": Column(WORD, "", "random id of the machine it ran on"),
    "workload": Column(WORD, "", "what every worker ran"),
    "parameters": Column(WORD, "", "all parameters of the workload: JSON, keys sorted"),
    "loop": Column(WORD, "", "event-loop implementation"),
    "arm": Column(WORD, "", "build and run-time settings, e.g. 3.14t+gil"),
    "model": Column(WORD, "", "what a worker is: threads, processes, interpreters"),
    "workers": Column(COUNT, "", "how many workers: N"),
    "sizing": Column(WORD, "", "weak: fixed work in flight per worker; strong: in total"),
    "region": Column(
        WORD, "", "where N workers fit on the machine: cores, smt (siblings too), oversubscribed"
    ),
    "twin": Column(FLAG, "", "hidden duplicate of a cell, for the noise floor; in no curve"),
    "block": Column(COUNT, "", "block that the run is part of, from 0"),
    "position": Column(COUNT, "", "place of the run within its block, from 0"),
    "attempt": Column(COUNT, "", "1, or more when it was run again"),
    "outcome": Column(WORD, "", "measured, failed, crashed, timed-out or garbled"),
    "valid": Column(FLAG, "", "whether averages may use the run: validity is not `invalid`"),
    "validity": Column(WORD, "", "valid, suspect (used, and marked) or invalid (never used)"),
    "reasons": Column(THING, "", "why not valid: words of scaling.analysis.validity, a tuple"),
    "details": Column(THING, "", "the same in sentences, with figures and names, a tuple"),
    "outlier": Column(
        FLAG, "", "throughput far from that of the other runs of its cell; labelled, never dropped"
    ),
    "finite": Column(FLAG, "", "whether workers do a stated number of operations, and are done"),
    "throughput_per_s": Column(
        NUMBER,
        "operations/s",
        "sum over workers of operations between first and last tick ÷ time; finite: operations of "
        "all workers ÷ `finish_s`",
    ),
    "finish_s": Column(NUMBER, "s", "finite only: release of all workers to the last one's finish"),
    "operations": Column(NUMBER, "", "operations of all workers inside the window"),
    "errors": Column(NUMBER, "", "operations that went wrong inside the window"),
    "bytes_per_s": Column(NUMBER, "B/s", "payload moved inside the window ÷ time, all workers"),
    "window_s": Column(NUMBER, "s", "time between first and last tick, mean of the workers"),
    "cpu_s_per_op": Column(NUMBER, "s", "CPU time of the workers' threads ÷ operations"),
    "cpu_busy": Column(NUMBER, "", "CPU s per s, summed over workers: cores in use"),
    "lag_p50_s": Column(
        NUMBER, "s", "loop lag: how late a tick ran, median of all ticks; not of finite runs"
    ),
    "lag_max_s": Column(NUMBER, "s", "loop lag: the latest tick of any worker; not of finite runs"),
    "fairness": Column(
        NUMBER,
        "",
        "Jain's index of the workers' rates (operations ÷ own time, who only serves left out): "
        "1 equal, 1/N one has all",
    ),
    "fairness_min_max": Column(NUMBER, "", "slowest worker's rate ÷ fastest worker's"),
    "overlap": Column(
        NUMBER,
        "",
        "share of the counted time in which all workers were busy, worst worker; not of finite "
        "runs",
    ),
    "steadiness": Column(
        WORD,
        "",
        "level, warming, slowing or unsteady: the quarters of the window against each other; not "
        "of finite runs",
    ),
    "late_rise": Column(
        NUMBER, "", "rate in the last quarter of the window ÷ rate before it, minus 1"
    ),
    "figures": Column(
        THING,
        "",
        "the workload's own figures, a dict: mean of the workers, `_max` max, `_total` sum",
    ),
    "latencies": Column(COUNT, "", "how many operations were timed; 0 but in timed cells"),
    "latency_mean_s": Column(NUMBER, "s", "mean time of an operation, all workers"),
    "latency_p50_s": Column(NUMBER, "s", "median time of an operation"),
    "latency_p90_s": Column(NUMBER, "s", "90th percentile, from 10 operations on"),
    "latency_p95_s": Column(NUMBER, "s", "95th percentile, from 20 operations on"),
    "latency_p99_s": Column(NUMBER, "s", "99th percentile, from 100 operations on"),
    "latency_p999_s": Column(NUMBER, "s", "99.9th percentile, from 1,000 operations on"),
    "minor_faults_per_op": Column(NUMBER, "", "pages fetched from the kernel ÷ operations"),
    "gil_enabled": Column(
        "boolean", "", "whether the GIL was on in any process at any of the moments it was read"
    ),
    "allocator": Column(WORD, "", "object allocator in use: mimalloc, pymalloc, malloc"),
    "allocator_state": Column(
        WORD, "", "keeping, or mapping: the kernel is asked for memory in every other op or more"
    ),
    "baseline_rss_bytes": Column(NUMBER, "B", "resident memory of the child's tree after imports"),
    "rss_bytes": Column(
        NUMBER, "B", "resident memory of the child's tree in the window, median sample"
    ),
    "pss_bytes": Column(
        NUMBER,
        "B",
        "the same at the window's end, but what its processes share counts once; who else on the "
        "machine has it is no matter",
    ),
    "uss_bytes": Column(NUMBER, "B", "memory shared with no other process, at the window's end"),
    "peak_bytes": Column(
        NUMBER, "B", "highest resident memory of each process (VmHWM), whenever it was; their sum"
    ),
    "gc_collections": Column(NUMBER, "", "garbage collections inside the window, all processes"),
    "gc_pause_s": Column(NUMBER, "s", "time spent in them"),
    "os_threads": Column(NUMBER, "", "OS threads of the child's processes"),
    "start_s": Column(NUMBER, "s", "start of the child to opening of the window, less warm-up"),
    "elapsed_s": Column(NUMBER, "s", "the whole run as the driver saw it"),
    "steal_fraction": Column(NUMBER, "", "CPU time that the hypervisor took"),
    "other_cpu_fraction": Column(
        NUMBER, "", "CPU time that processes outside the study took, of all CPUs of the machine"
    ),
    "throttled_s": Column(NUMBER, "s", "time held back by a cgroup quota"),
    "site_busy_fraction": Column(
        NUMBER,
        "",
        "share of a core that the busiest process of a service used (older journals: mean over its "
        "processes)",
    ),
    "at": Column("datetime64[us, UTC]", "", "when the run began"),
}


def columns_markdown() -> str:
    """The table above as Markdown, for documentation."""
    rows = (
        f"| `{name}` | {column.dtype} | {column.unit or '–'} | {column.definition} |"
        for name, column in COLUMNS.items()
    )
    return "\n".join(("| column | dtype | unit | what it is |", "| --- | --- | --- | --- |", *rows))
