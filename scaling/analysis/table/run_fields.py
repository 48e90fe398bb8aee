"""Columns read from a run's line: cell and block, outcome, what the driver measured, and the
figures that a workload makes itself.
"""

import math

from scaling.analysis.column import COUNT, FLAG, OBJECT, WORD, Column, Noise, Shown
from scaling.analysis.rows import Rows
from scaling.analysis.validity import judge, validity
from scaling.analysis.validity.finding import reported
from scaling.journal.record import Parameters, Record, RunLine

KERNELS_PSS = "0.1.0"  # of journals with the kernel's PSS, which other programs lower


def _busiest(run: RunLine) -> float | None:
    busy = [use.busy_fraction for use in run.services.values() if use.busy_fraction is not None]
    return max(busy, default=None)


def _pss_bytes(rows: Rows) -> list[int | None]:
    """Blank in journals of `KERNELS_PSS`, where it is less than a single process's memory."""
    if rows.study.scaling == KERNELS_PSS:
        return [None] * len(rows.runs)
    return [run.memory.pss_bytes for run in rows.runs]


def _word(path: str, definition: str) -> Column:
    return Column(read=path, dtype=WORD, definition=definition)


def _bytes(
    path: str, definition: str, noise: Noise = "throughput", shown: Shown | None = None
) -> Column:
    return Column(read=path, definition=definition, better="less", noise=noise, shown=shown)


REQUESTED = {
    "study": Column(
        read=lambda rows: [rows.study.name] * len(rows.runs),
        dtype=WORD,
        definition="name of the study that the run belongs to",
    ),
    "machine": Column(
        read=lambda rows: [rows.study.machine.id] * len(rows.runs),
        dtype=WORD,
        definition="random id of the machine it ran on",
    ),
    "simulated": Column(
        read=lambda rows: [rows.study.simulated] * len(rows.runs),
        dtype=FLAG,
        definition="nothing was measured: the run was made from a law with noise",
    ),
    "workload": _word("cell.workload", "what every worker ran"),
    "parameters": Column(
        read=lambda rows: [Parameters.of(run.cell.parameters).text for run in rows.runs],
        dtype=WORD,
        definition="all parameters of the workload: JSON, keys sorted",
    ),
    "loop": _word("cell.loop", "event-loop implementation"),
    "arm": _word("cell.arm", "build and run-time settings, e.g. 3.14t+gil"),
    "model": _word(
        "cell.model",
        "what a worker is: threads, processes, forked, interpreters; with mixed:K and "
        "mixed-forked:K one of K threads in each process",
    ),
    "workers": Column(read="cell.workers", dtype=COUNT, definition="how many workers: N"),
    "sizing": _word("cell.sizing", "weak: fixed work in flight per worker; strong: in total"),
    "region": _word(
        "placement.region",
        "where N workers fit on the machine: cores, smt (siblings too), oversubscribed",
    ),
    "twin": Column(
        read="repeat",
        dtype=FLAG,
        definition="hidden duplicate of a cell (an A/A pair), for the noise floor; figures of a "
        "cell are averaged with those of a twin that was in turn with it",
    ),
    "block": Column(read="block", dtype=COUNT, definition="block that the run is part of, from 0"),
    "position": Column(
        read="position", dtype=COUNT, definition="place of the run within its block, from 0"
    ),
    "attempt": Column(read="attempt", dtype=COUNT, definition="1, or more when it was run again"),
    "in_turn": Column(
        read=lambda rows: [bool(record and record.in_slices) for record in rows.records],
        dtype=FLAG,
        definition="its window was taken in slices, in turn with cells that it is compared with",
    ),
    "group": Column(
        read="group", definition="runs of a block with the same number took turns with each other"
    ),
    "alone": _word("alone", "why it took turns with no other run"),
    "outside": Column(
        read=lambda rows: [bool(record and record.outside) for record in rows.records],
        dtype=FLAG,
        definition="the workers belong to a command, which was measured from outside",
    ),
    "outcome": _word("outcome", "measured, failed, crashed, timed-out or garbled"),
}

MEMORY = {
    "baseline_rss_bytes": _bytes(
        "memory.baseline_rss_bytes", "resident memory of the child's tree after imports"
    ),
    "rss_bytes": _bytes(
        "memory.rss_bytes",
        "resident memory of the child's tree at the window's end (older journals: median sample in "
        "the window)",
        noise="RSS",
        shown=Shown("RSS MiB", "rss_mib", 55, 2.0**-20),
    ),
    "window_rss_bytes": _bytes("memory.window_rss_bytes", "the same in the window, median sample"),
    "pss_bytes": Column(
        read=_pss_bytes,
        definition="the same at the window's end, but memory that its processes share counts once, "
        "even if other processes of the machine share it, too",
        better="less",
        noise="PSS",
    ),
    "idle_pss_bytes": _bytes(
        "memory.idle_pss_bytes",
        "PSS of servers that answer, before any load is sent to them",
        noise="PSS",
    ),
    "uss_bytes": _bytes(
        "memory.uss_bytes",
        "memory that only one of its processes has, even if other processes of the machine share "
        "it, at the window's end",
    ),
    "peak_bytes": _bytes(
        "memory.peak_bytes",
        "sum over processes of the highest resident memory of each (VmHWM), at any time",
        noise="RSS",
        # The memory of finite work is read at the end, when its tasks are gone: hence the peak.
        shown=Shown("peak RSS MiB", "peak_rss_mib", 60, 2.0**-20),
    ),
}

SURROUNDINGS = {
    "elapsed_s": Column(read="elapsed_s", definition="the whole run as the driver saw it"),
    "steal_fraction": Column(
        read="disturbance.steal_fraction",
        definition="CPU time that the hypervisor took",
        better="less",
    ),
    "other_cpu_fraction": Column(
        read="disturbance.other_cpu_fraction",
        definition="CPU time that processes outside the study took, of all CPUs of the machine",
        better="less",
    ),
    "throttled_s": Column(
        read="disturbance.throttled_s",
        definition="time held back by a cgroup quota",
        better="less",
    ),
    "clock_step_s": Column(
        read="disturbance.clock_step_s",
        definition="how far wall clock and monotonic clock moved apart",
        in_frame=False,
    ),
    "site_busy_fraction": Column(
        read=lambda rows: list(map(_busiest, rows.runs)),
        definition="share of a core that the busiest process of a service used",
        needs="has_services",
    ),
    "at": Column(read="at", dtype="datetime64[us, UTC]", definition="when the run began"),
}


# -------------------------------------------------------------------------------------- own figures
# The figures that a workload makes itself: how their names say what they are.
#
# A name ends in its unit, as `settle_s` and `overhead_ns_per_op` do. The figure of a run is the
# mean of the workers that have it; of a name with the word `max` in it the largest
# (`settle_max_s`), of one with `total` the sum, which is a count (`wakeups_total`).

UNITS = {"ns": "ns", "us": "µs", "ms": "ms", "s": "s", "bytes": "B", "kib": "KiB", "mib": "MiB"}
TOTAL = "total"
CONNECTIONS = "connections_total"  # of a served workload: the connections that a worker took
SPELT = {"http": "HTTP", "littles": "Little's", "cpu": "CPU", "gc": "GC", "io": "I/O"}


def unit_of(name: str) -> str:
    """`s` for `settle_max_s`, `ns/op` for `overhead_ns_per_op`; empty for a count."""
    return _read(name)[1]


def readable(name: str) -> str:
    """The name of a figure without its unit: `settle max`, `overhead`, `Little's law`, `ok`."""
    return " ".join(SPELT.get(word, word) for word in _read(name)[0] if word != TOTAL)


def _read(name: str) -> tuple[list[str], str]:
    """The words of a name, and the unit that they end in."""
    words = name.split("_")
    if "per" in words[1:-1]:
        place = words.index("per", 1)
        each = " ".join(words[place + 1 :])
        unit = UNITS.get(words[place - 1])
        return (words[: place - 1], f"{unit}/{each}") if unit else (words[:place], f"/{each}")
    if words[-1] in UNITS:
        return words[:-1], UNITS[words[-1]]
    return words, ""


def own_figures(rows: Rows) -> list[dict[str, float]]:
    """A dict for each run, name to figure; empty where there are none."""
    if not rows.any_worker_has("figures"):
        return [{}] * len(rows.runs)
    return [_merged(record) if record is not None else {} for record in rows.records]


def _merged(record: Record) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for worker in record.workers:
        for name, value in worker.figures.items():
            values.setdefault(name, []).append(value)
    return {name: _together(name, every) for name, every in values.items()}


def _together(name: str, values: list[float]) -> float:
    words = name.split("_")
    if "max" in words:
        return max(values)
    total = math.fsum(values)
    return total if "total" in words else total / len(values)


OWN_FIGURES = {
    "figures": Column(
        read=own_figures,
        dtype=OBJECT,
        definition="the workload's own figures, a dict: mean of the workers, `_max` max, `_total` "
        "sum",
    )
}


# ------------------------------------------------------------------------------------------- judged
# Columns of what was found against a run.

JUDGED = {
    "reported": Column(
        read=reported,
        dtype=COUNT,
        definition="runs that report the same of their processes have the same number",
        in_frame=False,
    ),
    "findings": Column(
        read=judge,
        dtype=OBJECT,
        definition="every reason why a run is not simply valid, the gravest first",
        in_frame=False,
    ),
    "valid": Column(
        read=lambda rows: [severity != "invalid" for severity in rows["validity"]],
        dtype=FLAG,
        definition="whether averages may use the run: validity is not `invalid`",
    ),
    "validity": Column(
        read=lambda rows: list(map(validity, rows["findings"])),
        dtype=WORD,
        definition="valid, suspect (used, and marked) or invalid (never used)",
    ),
    "reasons": Column(
        read=lambda rows: [tuple([each.word for each in found]) for found in rows["findings"]],
        dtype=OBJECT,
        definition="why not valid: words of scaling.analysis.validity, a tuple",
    ),
    "details": Column(
        read=lambda rows: [tuple([each.detail for each in found]) for found in rows["findings"]],
        dtype=OBJECT,
        definition="the same in sentences, with figures and names, a tuple",
    ),
    "outlier": Column(
        read=lambda rows: [False] * len(rows.runs),  # `label_outliers` needs all runs of a cell
        dtype=FLAG,
        definition="throughput far from that of the other runs of its cell; labelled, never "
        "dropped",
    ),
    "finite": Column(
        read=lambda rows: [record is not None and record.finite for record in rows.records],
        dtype=FLAG,
        definition="whether workers do a stated number of operations, and are done",
    ),
}
