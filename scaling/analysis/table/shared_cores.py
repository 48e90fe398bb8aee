"""Few cores: how much N workers can gain at most where generator and services need cores, too.

With γ, κ, σ the CPU time per request of generator, server and services, one worker with a core to
itself answers 1/κ requests/s, and c cores have time for c/(κ + γ + σ). So N workers can gain at
most

    min(N, c κ / (κ + γ + σ))

Where that is below nine tenths of N (1.8 at N = 2), throughput says more about the number of cores
than about the workers: it is marked `shared cores`, and CPU time per request is the headline.
A generator that had CPUs of its own, or another host, takes none of the c cores.
"""

import numpy as np

from scaling.analysis.arrays import Flags, Floats
from scaling.analysis.table.column import FLAG, Column, SomeRuns
from scaling.analysis.table.service_use import ROLES
from scaling.journal.record import Machine, RunLine

LEAST_OF_N = 0.9
CACHE = ROLES["cache"]
SHARED_CORES = "shared cores"  # what tables and captions print beside such throughput


def usable_cores(machine: Machine) -> float:
    """The CPUs that the study may use: those of its affinity mask, less where a quota is; or NaN.

    SMT siblings count as cores: the bound is what can be reached at most.
    """
    cpus = machine.usable_cpus or machine.logical_cpus
    known = [float(each) for each in (cpus, machine.cpu_quota) if each is not None]
    return min(known, default=np.nan)


def gain_bound(
    workers: Floats, cores: Floats, server_s: Floats, generator_s: Floats, services_s: Floats
) -> Floats:
    """What N workers gain over one at most, for CPU s per request of each; arrays of one shape."""
    with np.errstate(divide="ignore", invalid="ignore"):
        bound = cores * server_s / (server_s + generator_s + services_s)
    return np.minimum(workers, bound)


def _bounds(rows: SomeRuns) -> Floats:
    usable = usable_cores(rows.study.machine)
    cores = np.array([_workers_cores(run, usable) for run in rows.runs])
    loads = [run.load for run in rows.runs]
    apart = np.array([bool(load and (load.cpus or load.elsewhere)) for load in loads], np.bool_)
    loaded = np.array([run.load is not None for run in rows.runs], np.bool_)
    generator_s = np.where(apart | ~loaded, 0.0, rows["generator_cpu_s_per_op"])
    services_s = _services_s(rows)
    workers = rows["workers"].astype(np.float64)
    bound = gain_bound(workers, cores, rows["cpu_s_per_op"], generator_s, services_s)
    beside = np.array([CACHE in run.services for run in rows.runs], np.bool_)
    return np.where(loaded | beside, bound, np.nan)


def _workers_cores(run: RunLine, usable: float) -> float:
    """What the workers had of the usable cores: where the generator had its own, the others."""
    if run.load is None or not run.load.cpus:
        return usable
    if run.load.worker_cpus:
        return min(usable, float(len(run.load.worker_cpus)))
    return usable - len(run.load.cpus)


def _services_s(rows: SomeRuns) -> Floats:
    """CPU s of the services per request: of all in the window, or at least the busiest process."""
    in_window = [[use.window_cpu_s for use in run.services.values()] for run in rows.runs]
    busiest = [sum(use.busy_fraction or 0.0 for use in run.services.values()) for run in rows.runs]
    known = np.array([bool(each) and None not in each for each in in_window], np.bool_)
    whole = np.array([sum(used or 0.0 for used in each) for each in in_window])
    with np.errstate(divide="ignore", invalid="ignore"):
        per_request: Floats = whole / rows["operations"]
        at_least: Floats = np.array(busiest) / rows["throughput_per_s"]
    return np.where(known, per_request, at_least)


def _shared(rows: SomeRuns) -> Flags:
    return np.asarray(rows["gain_bound"] < LEAST_OF_N * rows["workers"])


SHARED = {
    "gain_bound": Column(
        read=_bounds,
        definition="served, or with a cache in a server: what N workers gain over one at most, "
        "since load generator and services need CPU time, too: min(N, cores × κ ÷ (κ + γ + σ)), "
        "from CPU time per request of workers, generator and services",
    ),
    "shared_cores": Column(
        read=_shared,
        dtype=FLAG,
        definition="whether `gain_bound` is below 0.9 N: then CPU time per request is what to "
        "compare, not throughput",
    ),
}
