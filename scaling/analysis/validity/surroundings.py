"""What the machine did besides: quotas, other processes, the hypervisor, services."""

import numpy as np

from scaling.analysis.validity.finding import TOLERANCE, Batch, Finding, Found
from scaling.machine.disturbance import MOST_STEAL, crowded

# Of the counted time: some of the throttling may have been during start-up.
MOST_THROTTLED = TOLERANCE / 2

# Of a core, for the busiest process of a service: beyond, workers wait for it, and their curve is
# that of the service. A queue at 0.7 makes a request take 1 / (1 - 0.7) times as long.
MOST_SERVICE_BUSY = 0.70


def throttled(batch: Batch) -> Found:
    """A cgroup quota throttled the run."""
    held_s, finish_s = batch.figures["throttled_s"], batch.figures["finish_s"]
    counted_s = np.where(np.isfinite(finish_s), finish_s, batch.figures["window_s"])
    for row in batch.where(held_s > MOST_THROTTLED * counted_s):
        detail = f"a CPU quota throttled the run for {held_s[row]:.2f} s"
        yield row, Finding("throttled", "invalid", detail)


def machine_busy(batch: Batch) -> Found:
    """Other processes took CPU time that the workers could have used.

    What they took is blank if we may not use every CPU (`watched_cpus`); steal never is.
    """
    steal, other = batch.figures["steal_fraction"], batch.figures["other_cpu_fraction"]
    cpus = np.array([each.logical_cpus for each in batch.expected], np.float64)
    needed = np.minimum(batch.figures["workers"], cpus)
    stolen = steal > MOST_STEAL
    for row in batch.where(stolen | crowded(other, cpus, needed)):
        if stolen[row]:
            detail = f"the hypervisor took {steal[row]:.1%} of the CPUs"
        else:
            detail = f"other processes took {other[row] * cpus[row]:.1f} of {cpus[row]:.0f} CPUs"
        yield row, Finding("machine-busy", "suspect", detail)


def service_gone(batch: Batch) -> Found:
    """A service of the workload ended during the run: what was measured is its absence."""
    for row, run in enumerate(batch.runs):
        if gone := {name: use.ended for name, use in run.services.items() if use.ended}:
            name, how = next(iter(gone.items()))
            detail = f"the service {name} ended during the run ({how})"
            yield row, Finding("service-gone", "invalid", detail)


def service_busy(batch: Batch) -> Found:
    """A service of the workload was so busy that the workers had to wait for it."""
    for row in batch.where(batch.figures["site_busy_fraction"] > MOST_SERVICE_BUSY):
        busy = ((name, use.busy_fraction or 0.0) for name, use in batch.runs[row].services.items())
        name, share = next(each for each in busy if each[1] > MOST_SERVICE_BUSY)
        detail = f"the service {name} was busy: one of its processes used {share:.0%} of a core"
        yield row, Finding("service-busy", "suspect", detail)
