"""Which CPU each worker is pinned to: a core of its own as long as there are cores.

A load generator has CPUs that no worker has, where there are enough.

The order is that of the regions of a curve (`Topology.region`): distinct physical cores first,
those of one NUMA node and of one cache after the other, efficiency cores at their end; then the SMT
siblings in the same order; then round robin.
"""

import contextlib
import os
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from scaling.base.errors import UsageError
from scaling.machine.topology import Topology


def cpu_order(topology: Topology) -> tuple[int, ...]:
    """The usable CPUs, in the order in which workers are placed on them.

    Raises:
        UsageError: this system does not let a program choose its CPUs.
    """
    if topology.affinity is None:
        raise UsageError(
            "--pin: this system does not let a program choose its CPUs (Linux does). "
            "Run without --pin: the kernel then places the workers"
        )
    usable = set(topology.affinity)
    cores = topology.cores or tuple((cpu,) for cpu in topology.affinity)
    # Rank among the usable siblings: a core counts even if its first CPU is not ours.
    places = {
        cpu: (
            rank,
            cpu in topology.efficiency_cpus,
            _place(cpu, topology.numa_nodes),
            _place(cpu, topology.caches),
            core,
            cpu,
        )
        for core in cores
        for rank, cpu in enumerate(cpu for cpu in core if cpu in usable)
    }
    return tuple(sorted(places, key=places.__getitem__))


def pinning(order: tuple[int, ...], workers: int) -> tuple[tuple[int, ...], ...]:
    """One CPU per worker, in that order, starting over when it is used up."""
    return tuple((order[index % len(order)],) for index in range(workers))


class Apart(NamedTuple):
    """CPUs of a run's workers, and those that its load generator has to itself."""

    workers: list[int]
    generator: list[int]


def apart(topology: Topology, workers: int, generators: int) -> Apart | None:
    """Where workers and generator processes run without sharing a CPU; None where they must share.

    The generator has the last physical cores, whole; if there are too few cores, the last CPUs.
    Neither is among the first `workers` CPUs of `cpu_order`, to which workers are pinned.
    """
    if topology.affinity is None or workers + generators > topology.usable_logical:
        return None
    order = cpu_order(topology)
    usable = set(order)
    if workers + generators <= topology.usable_cores:
        cores = topology.cores or tuple((cpu,) for cpu in order)
        theirs = set(order[: int(topology.usable_cores)][-generators:])
        mine = {cpu for core in cores if theirs & set(core) for cpu in core} & usable
    else:
        mine = set(order[-generators:])
    return Apart(sorted(usable - mine), sorted(mine))


def cpus_of(pids: Iterable[int]) -> list[int]:
    """The CPUs that any thread of these processes may run on, as the system says."""
    found: set[int] = set()
    for pid in pids:
        with contextlib.suppress(OSError):  # gone meanwhile
            for task in Path(f"/proc/{pid}/task").iterdir():
                with contextlib.suppress(OSError):
                    found |= os.sched_getaffinity(int(task.name))
    return sorted(found)


def _place(cpu: int, groups: Sequence[Collection[int]]) -> int:
    """The number of the group that a CPU is in; 0 where that is not known."""
    return next((number for number, cpus in enumerate(groups) if cpu in cpus), 0)
