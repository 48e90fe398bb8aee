"""The CPUs: how many a study may use, and what changes their speed."""

from collections.abc import Iterator

from scaling.machine.advice import Advice
from scaling.machine.identity import virtualised
from scaling.machine.snapshot import MachineSnapshot

CPU_FILES = "sys/devices/system/cpu"
FEWEST = 2


def cores(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """Whether there are enough cores to measure scaling."""
    usable = snapshot.topology.usable_cores
    if usable < FEWEST:
        yield Advice(
            "stop",
            f"{usable:g} usable core: nothing can scale here, and the controls cannot be judged",
            "use a machine with at least two cores",
        )
    else:
        yield Advice("ok", f"{usable:g} usable cores")


def quota(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """A container's limit on CPU time."""
    granted = snapshot.topology.cpu_quota
    if granted is not None and granted < snapshot.topology.logical_cpus:
        yield Advice(
            "warning",
            f"a cgroup quota grants {granted:g} of {snapshot.topology.logical_cpus} CPUs: "
            f"runs with more workers are throttled, and so invalid",
            "start the container without a CPU quota; assign it CPUs instead (--cpuset-cpus)",
        )


def affinity(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """CPUs that exist but that this process may not use."""
    topology = snapshot.topology
    if topology.affinity is not None and len(topology.affinity) < topology.logical_cpus:
        yield Advice(
            "warning",
            f"the affinity mask allows {len(topology.affinity)} of {topology.logical_cpus} CPUs",
            "if not intended: start without taskset, or widen the container's cpuset",
        )


def siblings(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """SMT: two CPUs share a core."""
    topology = snapshot.topology
    if any(len(core) > 1 for core in topology.cores):
        yield Advice(
            "warning",
            f"SMT is on: {topology.logical_cpus} CPUs on {topology.physical_cores} cores; curves "
            f"bend where workers begin to share a core",
            "plots draw that border; --pin gives each worker a core of its own first",
        )


def efficiency(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """Cores of two kinds."""
    slow = len(snapshot.topology.efficiency_cpus)
    if slow:
        yield Advice(
            "warning",
            f"{slow} CPUs are efficiency cores: a worker's speed depends on where it runs",
            "use --pin: workers get the fast cores first",
        )


def nodes(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """NUMA: memory is near some cores and far from others."""
    count = len(snapshot.topology.numa_nodes)
    if count > 1:
        yield Advice(
            "warning",
            f"{count} NUMA nodes: curves may bend where the second node begins",
            "use --pin: workers fill one node before the next",
        )


def governor(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """How the kernel sets the CPUs' clock frequency."""
    governors = set(snapshot.texts(f"{CPU_FILES}/cpu[0-9]*/cpufreq/scaling_governor"))
    if not governors:
        yield Advice("ok", "the CPU frequency governor cannot be read (usual in virtual machines)")
    elif governors != {"performance"}:
        yield Advice(
            "warning",
            f"the CPU frequency governor is {', '.join(sorted(governors))}: runs start slower than "
            f"they end",
            "as root: cpupower frequency-set --governor performance",
        )


def turbo(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """Turbo: the fewer cores are busy, the faster they run."""
    intel = snapshot.text(f"{CPU_FILES}/intel_pstate/no_turbo")
    boost = snapshot.text(f"{CPU_FILES}/cpufreq/boost")
    if intel == "0" or boost == "1":
        switch = (
            f"echo 1 > /{CPU_FILES}/intel_pstate/no_turbo"
            if intel
            else f"echo 0 > /{CPU_FILES}/cpufreq/boost"
        )
        yield Advice(
            "warning",
            "turbo is on: one busy core runs faster than many, which looks like poor scaling",
            f"as root, while the study runs: {switch}",
        )
    elif not intel and not boost:
        yield Advice("ok", "whether turbo is on cannot be read")


def virtual(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """A virtual machine."""
    hypervisor = virtualised(snapshot.root)
    if hypervisor is not None:
        kind = "" if hypervisor == "unknown" else f" ({hypervisor})"
        yield Advice(
            "warning",
            f"a virtual machine{kind}: cores may be SMT siblings, and others use the host",
            "check the controls and the steal time; publish figures from a physical machine",
        )
