"""Which CPU each worker is pinned to: a core of its own as long as there are cores.

The order is that of the regions of a curve (`Topology.region`): distinct physical cores first,
those of one NUMA node after the other and efficiency cores at their end; then the SMT siblings in
the same order; then round robin.
"""

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
        cpu: (rank, cpu in topology.efficiency_cpus, _node(topology, cpu), core, cpu)
        for core in cores
        for rank, cpu in enumerate(cpu for cpu in core if cpu in usable)
    }
    return tuple(sorted(places, key=places.__getitem__))


def pinning(order: tuple[int, ...], workers: int) -> list[list[int]]:
    """One CPU per worker, in that order, starting over when it is used up."""
    return [[order[index % len(order)]] for index in range(workers)]


def _node(topology: Topology, cpu: int) -> int:
    return next((k for k, cpus in enumerate(topology.numa_nodes) if cpu in cpus), 0)
