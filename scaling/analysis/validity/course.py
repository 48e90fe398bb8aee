"""The course of the work, and other load of the machine: all workers busy, clocks in order, no
errors, a steady rate, memory known; quotas, other processes, the hypervisor, services.
"""

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
    watched_cpus,
)
from scaling.base.formats import number
from scaling.base.models import model_of, workers_each
from scaling.machine.disturbance import MOST_STEAL, crowded
from scaling.study.controls import least_window_s

MIB = 2.0**20

# A worker alone for a share x of its time gains at most that share.
LEAST_OVERLAP = 1 - TOLERANCE

# Limits of a stall of a worker (`scaling.analysis.table.ticks`).
LEAST_STALL = 1 / 4  # of the window; shorter pauses (other load, a slow page) average out
MISSED = 20.0  # operations due at its usual pace; P(at most 3 of 20) is 3 in a million (Poisson)

# Requests due to each served worker in an open loop. With fewer than `MISSED` in a stretch of time
# chance may leave it without one, and a stretch that counts is `LEAST_STALL` of a window or more.
FEWEST_DUE = MISSED / LEAST_STALL

# uvloop's timers count whole ms and may fire up to 1 early; more than that is a step.
MOST_EARLY_S = 0.005

# Between wall and monotonic clock: more than reading both can explain,
MOST_STEP_S = 0.005
# plus what NTP may slew one of the two by, s/s.
MOST_SLEW = 500e-6

# Of a window that is taken in slices, s/s. Lateness at both ends makes it shorter by chance.
LEAST_IN_SLICES = 0.5

# Between the first and the last worker to open a slice that all have in common.
MOST_APART_NS = 2_000_000

# Of a finite run's time, between first and last finish. Workers with equal shares on equal cores
# end within a tenth of each other; if one waited for a quarter of the time, the figure measures
# that and not N workers at work.
MOST_GAP = 0.25


def not_all_busy(rows: Rows) -> Found:
    """Not all workers were busy in all of the counted time, or one finished no operation in it.

    In a finite run a worker that is done early has done its part: no overlap is required. A served
    worker has nothing to do without a connection (that is `uneven-load`), or where few requests are
    due. A thread that waits for the GIL is not idle, even if it waits for longer than a slice.
    """
    overlap, due = rows["overlap"], _due(rows)
    idle = rows["idle_workers"] - np.nan_to_num(rows["unconnected_workers"])
    idle = np.where(due < MISSED, 0.0, np.maximum(idle, 0.0))
    finite = np.isfinite(rows["finish_s"])
    stalled = ~finite & ~(overlap >= LEAST_OVERLAP) & ~(due < FEWEST_DUE)
    for row in rows.where((idle > 0) | stalled):
        if _waits_for_gil(rows, row):
            continue
        if idle[row]:
            where = "at all" if finite[row] else "in the window"
            detail = f"{idle[row]:.0f} worker(s) finished no operation {where}"
        else:
            detail = f"all workers were busy for {overlap[row]:.1%} of the counted time only"
        yield row, Finding("not-all-busy", "invalid", detail)


def _waits_for_gil(rows: Rows, row: int) -> bool:
    """Whether the workers of a run are threads that share a GIL and have their slices in common.

    In older journals each thread opened a slice when it got the GIL.
    """
    run = rows.runs[row]
    if run.record is None or run.load is not None or not rows["operations"][row]:
        return False
    model, workers = run.cell.model, run.cell.workers
    shares = model_of(model).shares and workers_each(model, workers) > 1
    if not (shares and rows["gil_enabled"][row]):
        return False
    opened = [each.slices.opened_ns if each.slices else [] for each in run.record.workers]
    return all(opened) and all(
        max(each) - min(each) <= MOST_APART_NS for each in zip(*opened, strict=False)
    )


def slices_short(rows: Rows) -> Found:
    """The slices of a run, together, have a small part of the window that was asked for.

    They open and close when its loops can take a tick. Where a callback takes as long as a slice,
    hardly anything is left between the two, and that is no sample of the window. A control is
    asked for the window of one that was added: a run does not say whether it was.
    """
    study_s, took_s = float(rows.study.study.get("window_s") or 0.0), rows["window_s"]
    for row in rows.where(took_s < LEAST_IN_SLICES * study_s):
        record = rows.runs[row].record
        asked_s = least_window_s(study_s, rows.runs[row].cell)
        short = took_s[row] < LEAST_IN_SLICES * asked_s
        if short and record is not None and record.in_slices and not record.finite:
            detail = f"its slices have {took_s[row]:.2g} s of {asked_s:g}: loops were late for them"
            yield row, Finding("slices-short", "invalid", detail)


def _due(rows: Rows) -> Floats:
    """Requests that were due to each worker in an open loop; NaN for all other runs."""
    offered = np.where(np.isfinite(rows["asked_per_s"]), rows["offered_per_s"], np.nan)
    return np.asarray(offered * rows["window_s"] / rows["workers"])


def uneven_finish(rows: Rows) -> Found:
    """Some workers of a finite run finished long before the last one."""
    gap = rows["finish_gap"]
    for row in rows.where(gap > MOST_GAP):
        detail = f"the first worker finished {gap[row]:.0%} of the time before the last"
        yield row, Finding("uneven-finish", "suspect", detail)


def clock_stepped(rows: Rows) -> Found:
    """A clock stopped, went back or ran ahead of the schedule, or two clocks diverged."""
    early_s, step_s = rows["early_max_s"], rows["clock_step_s"]
    in_order = rows["in_order"] > 0
    elapsed_s = np.nan_to_num(rows["elapsed_s"])
    stepped = np.abs(step_s) > MOST_STEP_S + MOST_SLEW * elapsed_s
    for row in rows.where(~in_order | (early_s > MOST_EARLY_S) | stepped):
        if not in_order[row]:
            detail = "a tick is not later than the one before it"
        elif early_s[row] > MOST_EARLY_S:
            detail = f"a tick ran {early_s[row] * 1000:.0f} ms before its instant"
        else:
            moved = f"the wall clock moved {step_s[row] * 1000:+.0f} ms against the monotonic one"
            detail = f"{moved} (it was set, or the machine slept)"
        yield row, Finding("clock-stepped", "invalid", detail)


def worker_errors(rows: Rows) -> Found:
    """Operations failed inside the window."""
    errors, operations = rows["errors"], rows["operations"]
    for row in rows.where(errors > 0):
        share = errors[row] / (errors[row] + operations[row])
        detail = f"{errors[row]:.0f} operations failed ({share:.2%}): "
        detail += next(error_samples(rows.runs[row]), "no message was kept")
        yield row, Finding("worker-errors", "invalid" if share > MOST_ERRORS else "suspect", detail)


def not_steady(rows: Rows) -> Found:
    """The rate was not level in the window: `scaling.analysis.table.steadiness` has the rule.

    With a planned overload it is not to be. Finite work is not warmed up, and what it takes to
    begin is a part of it.
    """
    rise, fall = rows["rise"], rows["fall"]
    planned = np.array([bool(run.load and run.load.overload) for run in rows.runs], np.bool_)
    planned |= np.isfinite(rows["finish_s"])
    for row in rows.where(~planned & ((rise > 0) | (fall < 0))):
        changes = [f"rose by {rise[row]:.1%}"] * bool(rise[row])
        changes += [f"fell by {-fall[row]:.1%}"] * bool(fall[row])
        how = f"{rows['steadiness'][row]}: from one quarter of the window to a later one"
        detail = f"{how} the rate {' and '.join(changes)} of its mean"
        yield row, Finding("not-steady", "suspect", detail)


def memory_impossible(rows: Rows) -> Found:
    """PSS is above RSS, which counts the same pages and more: one of the two is not of that moment.

    Older journals have the median RSS of the window beside the PSS of its end, between which the
    memory of some runs has grown.
    """
    pss, rss = rows["pss_bytes"], rows["rss_bytes"]
    for row in rows.where(pss > (1 + TOLERANCE) * rss):
        detail = (
            f"PSS is {number(pss[row] / MIB)} MiB, more than RSS with {number(rss[row] / MIB)}: "
            "they are not of the same moment"
        )
        yield row, Finding("memory-impossible", "suspect", detail)


def tasks_left(rows: Rows) -> Found:
    """Something of the workload ran on after closing: it may have run beside the work, too."""
    if not (rows.any_worker_has("pending_tasks") or rows.any_worker_has("hung")):
        return
    for row in rows.where(rows.measured):
        record = rows.runs[row].record
        pending = hung = 0
        for each in record.workers if record else ():
            pending += each.pending_tasks
            hung += each.hung
        if pending:
            detail = f"{pending} task(s) still ran after the workload had closed"
            yield row, Finding("tasks-left", "suspect", detail)
        elif hung:
            yield row, Finding("tasks-left", "suspect", f"{hung} worker(s) never ended")


# ------------------------------------------------------------------------------------- surroundings
# Disturbances by the machine: quotas, other processes, the hypervisor, services.

# Of the counted time: some of the throttling may have been during start-up.
MOST_THROTTLED = TOLERANCE / 2

# Of a core, for the busiest process of a service: beyond, workers wait for it, and their curve is
# that of the service. A queue at 0.7 makes a request take 1 / (1 - 0.7) times as long.
MOST_SERVICE_BUSY = 0.70


def throttled(rows: Rows) -> Found:
    """A cgroup quota throttled the run."""
    held_s, finish_s = rows["throttled_s"], rows["finish_s"]
    counted_s = np.where(np.isfinite(finish_s), finish_s, rows["window_s"])
    for row in rows.where(held_s > MOST_THROTTLED * counted_s):
        detail = f"a CPU quota throttled the run for {held_s[row]:.2f} s"
        yield row, Finding("throttled", "invalid", detail)


def machine_busy(rows: Rows) -> Found:
    """Other processes took CPU time that the workers could have used.

    What they took is blank if we may not use every CPU (`watched_cpus`); steal never is.
    """
    steal, other = rows["steal_fraction"], rows["other_cpu_fraction"]
    cpus = watched_cpus(rows.study.machine) or np.nan
    needed = np.minimum(rows["workers"], cpus)
    stolen = steal > MOST_STEAL
    for row in rows.where(stolen | crowded(other, cpus, needed)):
        if stolen[row]:
            detail = f"the hypervisor took {steal[row]:.1%} of the CPUs"
        else:
            detail = f"other processes took {other[row] * cpus:.1f} of {cpus:.0f} CPUs"
        yield row, Finding("machine-busy", "suspect", detail)


def service_gone(rows: Rows) -> Found:
    """A service of the workload ended during the run: what was measured is its absence."""
    for row, run in enumerate(rows.runs if rows.has_services else ()):
        if gone := {name: use.ended for name, use in run.services.items() if use.ended}:
            name, how = next(iter(gone.items()))
            detail = f"the service {name} ended during the run ({how})"
            yield row, Finding("service-gone", "invalid", detail)


def service_busy(rows: Rows) -> Found:
    """A service of the workload was so busy that the workers had to wait for it."""
    for row in rows.where(rows["site_busy_fraction"] > MOST_SERVICE_BUSY):
        busy = ((name, use.busy_fraction or 0.0) for name, use in rows.runs[row].services.items())
        name, share = next(each for each in busy if each[1] > MOST_SERVICE_BUSY)
        detail = f"the service {name} was busy: one of its processes used {share:.0%} of a core"
        yield row, Finding("service-busy", "suspect", detail)


COURSE_CHECKS: tuple[Check, ...] = (
    not_all_busy,
    clock_stepped,
    throttled,
    worker_errors,
    machine_busy,
    service_gone,
    service_busy,
    uneven_finish,
    not_steady,
    slices_short,
    tasks_left,
    memory_impossible,
)
