"""What the CPUs are: how many of them are ours, and what changes their speed."""

from collections.abc import Iterator

from scaling.machine.advice import Advice
from scaling.machine.identity import virtualised
from scaling.machine.snapshot import MachineSnapshot

CPU_FILES = "sys/devices/system/cpu"
FEWEST = 2


def cores(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """Whether there is anything to scale over."""
    usable = snapshot.topology.usable_cores
    if usable < FEWEST:
        yield Advice(
            "stop",
            f"{usable:g} usable core: nothing can scale here, and no control can be judged",
            "measure on a machine with two cores or more",
        )
    else:
        yield Advice("fine", f"{usable:g} usable cores")


def quota(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """A limit on CPU time that a container has."""
    granted = snapshot.topology.cpu_quota
    if granted is not None and granted < snapshot.topology.logical_cpus:
        yield Advice(
            "mind",
            f"a cgroup quota grants {granted:g} of {snapshot.topology.logical_cpus} CPUs; "
            f"runs with more workers are throttled, and invalid",
            "start the container without a CPU quota; give it CPUs of its own instead (--cpuset)",
        )


def affinity(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """CPUs that there are and that we may not run on."""
    topology = snapshot.topology
    if topology.affinity is not None and len(topology.affinity) < topology.logical_cpus:
        yield Advice(
            "mind",
            f"only {len(topology.affinity)} of {topology.logical_cpus} CPUs may be used "
            f"(affinity mask)",
            "fine if meant so; else start without taskset, or widen the container's cpuset",
        )


def siblings(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """SMT, with which two CPUs share a core."""
    topology = snapshot.topology
    if any(len(core) > 1 for core in topology.cores):
        yield Advice(
            "mind",
            f"SMT is on: {topology.logical_cpus} CPUs on {topology.physical_cores} cores; the "
            f"curve bends where siblings begin to share",
            "nothing need be done: the border is drawn; --pin keeps workers on cores of their own",
        )


def efficiency(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """Cores of two kinds."""
    slow = len(snapshot.topology.efficiency_cpus)
    if slow:
        yield Advice(
            "mind",
            f"{slow} CPUs are efficiency cores; where a worker lands changes its speed",
            "say --pin, so that workers get the fast cores first",
        )


def nodes(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """NUMA, with which memory is near some cores and far from others."""
    count = len(snapshot.topology.numa_nodes)
    if count > 1:
        yield Advice(
            "mind",
            f"{count} NUMA nodes: the curve may bend where the second begins",
            "say --pin, so that one node is filled before the next",
        )


def governor(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """How the kernel sets the CPUs' clock."""
    governors = set(snapshot.texts(f"{CPU_FILES}/cpu[0-9]*/cpufreq/scaling_governor"))
    if not governors:
        yield Advice("fine", "the clock's governor cannot be read here (usual in virtual machines)")
    elif governors != {"performance"}:
        yield Advice(
            "mind",
            f"the clock's governor is {', '.join(sorted(governors))}: runs begin slower than they "
            f"end",
            "as root: cpupower frequency-set --governor performance",
        )


def turbo(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """A clock that is higher the fewer cores are busy."""
    intel = snapshot.text(f"{CPU_FILES}/intel_pstate/no_turbo")
    boost = snapshot.text(f"{CPU_FILES}/cpufreq/boost")
    if intel == "0" or boost == "1":
        switch = (
            f"echo 1 > /{CPU_FILES}/intel_pstate/no_turbo"
            if intel
            else f"echo 0 > /{CPU_FILES}/cpufreq/boost"
        )
        yield Advice(
            "mind",
            "turbo is on: one busy core runs faster than all of them, which looks like bad scaling",
            f"as root, for the time of the study: {switch}",
        )
    elif not intel and not boost:
        yield Advice("fine", "whether there is a turbo cannot be read here")


def virtual(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """A machine that is a guest on another."""
    hypervisor = virtualised(snapshot.root)
    if hypervisor is not None:
        kind = "" if hypervisor == "unknown" else f" ({hypervisor})"
        yield Advice(
            "mind",
            f"a virtual machine{kind}: its cores may be SMT siblings, and neighbours may disturb",
            "watch the controls and the steal time; figures to publish want a real machine",
        )
