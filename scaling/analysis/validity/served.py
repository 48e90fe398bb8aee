"""The load of served runs: was it the load asked for, and did the generator keep up?

The limits on the generator are those that it has for itself (`workers.services.load.summary`).
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.rows import Rows
from scaling.analysis.validity.finding import (
    MOST_ERRORS,
    TOLERANCE,
    Check,
    Finding,
    Found,
    error_samples,
)
from scaling.base.formats import number
from scaling.base.models import processes_of
from scaling.journal.record import Load, RunLine

LATE, ONE_PROCESS = "generator-late", "one-process"

# The figures of slip and of latency that are compared.
SLIP = ("mean", "p50", "p90", "p95", "p99")

# Of a latency, that may be the generator's own slip: more, and the latency is an upper bound.
MOST_SLIP = 0.1

# More, and the generator measures itself.
TOO_LATE = 0.5

# Slip that never counts: waking up takes so long on an idle machine, too.
SLIP_ALWAYS_S = 0.1e-3

# Of a core: a busier generator is late more often than not.
MOST_BUSY = 0.7

# Facts of the generator that must be equal in all runs of a study.
type GeneratorKind = tuple[object, ...]
KIND = ("scheduling slice (ns)", "processes", "loop", "Python", "GIL")

# Most connections of a worker over their mean. Dealt evenly, they are even.
MOST_IMBALANCE = 1.1

# Of the CPU time of several processes, in one of them. With equal work two have about half each.
NEARLY_ALL = 0.9

# Connections that are opened for each request, and Poisson arrivals, differ by chance: by more than
# this many standard deviations in 1 of 15,000 runs.
CHANCE = 4.0


def generator_late(rows: Rows) -> Found:
    """The larger part of a latency is the generator's own lateness: mean, or a percentile.

    Smaller slip is judged by the latencies of all runs of a cell (`scaling.analysis.table.marks`).
    """
    slip_s = np.array([rows[f"slip_{name}_s"] for name in SLIP])
    latency_s = np.array([rows[f"latency_{name}_s"] for name in SLIP])
    for row, late in late_rows(slip_s, latency_s, TOO_LATE):
        if rows.measured[row]:
            yield row, Finding(LATE, "invalid", f"the load generator sent late: {late}")


def late_rows(slip_s: Floats, latency_s: Floats, most: float) -> Iterator[tuple[int, str]]:
    """The rows in which slip is more than this share of latency, each with the worst in words.

    Shape of slips and latencies: (figures of `SLIP`, runs).
    """
    late = slip_s > np.maximum(most * latency_s, SLIP_ALWAYS_S)
    for row in np.flatnonzero(late.any(axis=0)).tolist():
        worst = int(np.flatnonzero(late[:, row])[-1])
        name = SLIP[worst] if SLIP[worst] == "mean" else SLIP[worst].upper()
        own, whole = _ms(slip_s[worst, row]), _ms(latency_s[worst, row])
        yield row, f"{name} of its slip is {own}, of latency {whole}"


def generator_busy(rows: Rows) -> Found:
    """A process of the generator was so busy that it cannot have been on time.

    In a closed loop nothing is due, and it only sent less than it might have.
    """
    busy, is_open = rows["generator_busy_fraction"], np.isfinite(rows["asked_per_s"])
    for row in rows.where(busy > MOST_BUSY):
        detail = f"a process of the load generator used {busy[row]:.0%} of a core"
        yield row, Finding("generator-busy", "invalid" if is_open[row] else "suspect", detail)


def generator_misplaced(rows: Rows) -> Found:
    """The generator was to have CPUs of its own, and a worker could run on one of them."""
    for row, run in enumerate(rows.runs):
        both = set(run.load.cpus or ()) & set(run.load.worker_cpus or ()) if run.load else set()
        if both:
            where = ", ".join(map(str, sorted(both)))
            detail = f"the load generator was to have CPUs of its own; workers shared {where}"
            yield row, Finding("generator-misplaced", "invalid", detail)


def unlike_generators(kinds: Sequence[GeneratorKind | None]) -> dict[int, Finding]:
    """The finding for each run whose generator was not the same as in most runs of the study: its
    clients are a part of what is compared. None is a run without a generator.
    """
    counts = Counter(kind for kind in kinds if kind is not None)
    if len(counts) < 2:
        return {}
    ((usual, _),) = counts.most_common(1)
    found = {}
    for row, kind in enumerate(kinds):
        if kind is not None and kind != usual:
            odd = "; ".join(
                f"{name} {own}, not {theirs}"
                for name, own, theirs in zip(KIND, kind, usual, strict=True)
                if own != theirs
            )
            detail = f"the load generator was unlike that of most runs: {odd}"
            found[row] = Finding("generator-unlike", "suspect", detail)
    return found


def kind_of(load: Load | None) -> GeneratorKind | None:
    """The facts of the generator that must be the same in all runs of a study (`KIND`)."""
    if load is None:
        return None
    return load.slice_ns, load.processes, load.loop, load.python, load.gil


def load_errors(rows: Rows) -> Found:
    """Requests were answered wrongly or not at all; they are in no latency."""
    errors = rows["load_errors"]
    for row in rows.where(errors > 0):
        run = rows.runs[row]
        if run.load is None:
            continue
        offered = run.load.offered
        share = errors[row] / max(offered, errors[row])
        kinds = [f"{count:,} {kind}" for kind, count in run.load.errors.items() if count]
        kinds += dict.fromkeys(error_samples(run))
        detail = (
            f"{errors[row]:,.0f} requests failed ({share:.2%} of {offered:,}): {', '.join(kinds)}"
        )
        yield row, Finding("load-errors", "invalid" if share > MOST_ERRORS else "suspect", detail)


def load_declined(rows: Rows) -> Found:
    """In a closed loop requests were declined, which takes less than an answer: throughput has
    both. In an open loop tables show the shares, and P99 is a bound.
    """
    declined = rows["load_declined"]
    for row in rows.where(np.isnan(rows["asked_per_s"]) & (declined > 0)):
        run = rows.runs[row]
        share = declined[row] / max(run.load.offered, declined[row]) if run.load else 0.0
        if share > MOST_ERRORS:
            detail = f"{share:.1%} of the requests were declined, and throughput counts them"
            yield row, Finding("load-declined", "suspect", detail)


def uneven_load(rows: Rows) -> Found:
    """Some workers had more connections than others, and so more requests."""
    imbalance = rows["connections_imbalance"]
    for row in rows.where(imbalance > MOST_IMBALANCE + _chance_of_connections(rows)):
        detail = f"the busiest worker had {imbalance[row]:.2f} times the mean of connections"
        yield row, Finding("uneven-load", "suspect", detail)


def one_process(rows: Rows) -> Found:
    """One of several processes did nearly all: it had accepted most of the connections."""
    share = rows["busiest_process_share"]
    several = np.array([_processes(run) > 1 for run in rows.runs], np.bool_)
    for row in rows.where(several & (share > NEARLY_ALL)):
        detail = (
            f"one of {_processes(rows.runs[row])} processes used {share[row]:.0%} of the CPU time "
            "of all: they accept from one listener, and the first to wake up takes the connection"
        )
        yield row, Finding(ONE_PROCESS, "suspect", detail)


def _processes(run: RunLine) -> int:
    return max(1, processes_of(run.cell.model, run.cell.workers))


def rate_missed(rows: Rows) -> Found:
    """The generator offered less or more than it was asked for, by more than chance."""
    asked, offered = rows["asked_per_s"], rows["offered_per_s"]
    asked = asked * np.array([_mean_factor(rows, row) for row in range(len(rows.runs))])
    due = asked * rows["window_s"]
    loads = [run.load for run in rows.runs]
    poisson = np.array([bool(load and load.arrivals == "poisson") for load in loads])
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = np.where(poisson, CHANCE / np.sqrt(due), 1 / due)
        missed = np.abs(offered / asked - 1) > TOLERANCE / 2 + chance
    for row in rows.where(missed):
        rates = f"{number(offered[row])} requests/s of {number(asked[row])}"
        detail = f"the load generator offered {rates} that were asked for"
        yield row, Finding("rate-missed", "suspect", detail)


def saturated(rows: Rows) -> Found:
    """The server fell behind in an open loop: latencies grow with the window, and are bounds."""
    behind, most = _behind(rows)
    for row in rows.where(behind > most):
        offered, achieved = rows["offered_per_s"], rows["achieved_per_s"]
        rates = f"{number(achieved[row])} of {number(offered[row])} requests/s"
        detail = f"the server answered {rates}: it fell behind, and latencies are lower bounds"
        yield row, Finding("saturated", "suspect", detail)


def _behind(rows: Rows) -> tuple[Floats, Floats]:
    """By how many requests the backlog grew in the window, and up to how many prove nothing.

    What is in flight at one moment varies by up to the number of connections, or of rooms: there as
    many publish.
    """
    window_s, loads = rows["window_s"], [run.load for run in rows.runs]
    offered = rows["offered_per_s"] * window_s
    answered = rows["achieved_per_s"] * window_s
    answered = answered + rows["load_errors"] + rows["load_declined"]
    connections = np.array(
        [float(load.rooms or load.connections) if load else np.nan for load in loads]
    )
    behind = np.where(np.isfinite(rows["asked_per_s"]), offered - answered, np.nan)
    return behind, np.maximum(TOLERANCE * offered, connections)


def _mean_factor(rows: Rows, row: int) -> float:
    """The mean rate of the window over the one that was asked for: 1 without an overload."""
    load, window_s = rows.runs[row].load, float(rows["window_s"][row])
    if load is None or load.overload is None:
        return 1.0
    begins_s = load.overload.after_s
    inside_s = max(0.0, min(window_s, begins_s + load.overload.lasts_s) - begins_s)
    return 1 + (load.overload.factor - 1) * inside_s / window_s


def _chance_of_connections(rows: Rows) -> Floats:
    """The imbalance by chance of connections of one request each; 0 for those kept open."""
    loads = [run.load for run in rows.runs]
    each = np.array([load is not None and not load.keep_alive for load in loads], np.bool_)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = rows["operations"] / rows["workers"]
        return np.asarray(np.where(each, CHANCE / np.sqrt(mean), 0.0))


def _ms(seconds: float) -> str:
    return f"{number(seconds * 1e3)} ms"


def not_at_rest(rows: Rows) -> Found:
    """A command was still at work when the load began: perhaps not all of its workers answered."""
    for row in rows.where(rows.measured):
        record = rows.runs[row].record
        if record and record.outside and record.outside.at_rest is False:
            detail = (
                "the command was still at work when the load began: a worker may not have been "
                "ready, or the application works without requests"
            )
            yield row, Finding("not-at-rest", "suspect", detail)


SERVED_CHECKS: tuple[Check, ...] = (
    generator_late,
    generator_busy,
    generator_misplaced,
    load_errors,
    load_declined,
    uneven_load,
    one_process,
    rate_missed,
    saturated,
    not_at_rest,
)
