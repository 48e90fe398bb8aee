"""Machines that nobody here has, as files of `/proc` and `/sys`. They are written by hand.

Their shapes are those of machines that people rent or own; no file of them was recorded.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scaling.journal.record import Machine
from scaling.machine.topology import Topology, parse_cpus, read_topology, worker_counts

CPUS = "sys/devices/system/cpu"
QUOTA_PERIOD_US = 100_000


def tree(root: Path, files: Mapping[str, str]) -> Path:
    """Write each text to its path under `root`, which stands for that of a machine; give `root`."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@dataclass(frozen=True)
class Written:
    """What a machine's files say, as lists of CPUs in the kernel's form: `0-7,16-23`.

    `siblings` has one for each core. `capacities` is what an ARM kernel says of each CPU's speed.
    """

    siblings: Sequence[str]
    nodes: Sequence[str] = ()
    caches: Sequence[str] = ()
    atoms: str = ""
    capacities: Mapping[str, int] | None = None
    quota: float | None = None

    @property
    def online(self) -> list[int]:
        return sorted(cpu for core in self.siblings for cpu in parse_cpus(core))

    @property
    def files(self) -> dict[str, str]:
        found = {f"{CPUS}/online": ",".join(map(str, self.online))}
        found |= self._of_each(self.siblings, "topology/core_cpus_list")
        found |= self._of_each(self.caches, "cache/index3/shared_cpu_list")
        for number, node in enumerate(self.nodes):
            found[f"sys/devices/system/node/node{number}/cpulist"] = node
        if self.atoms:
            found["sys/devices/cpu_atom/cpus"] = self.atoms
        for cpus, capacity in (self.capacities or {}).items():
            for cpu in parse_cpus(cpus):
                found[f"{CPUS}/cpu{cpu}/cpu_capacity"] = str(capacity)
        if self.quota is not None:
            found |= {
                "proc/self/cgroup": "0::/\n",
                "proc/self/mountinfo": "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
                "sys/fs/cgroup/cgroup.controllers": "cpu memory\n",
                "sys/fs/cgroup/cpu.max": f"{self.quota * QUOTA_PERIOD_US:.0f} {QUOTA_PERIOD_US}\n",
            }
        return found

    @staticmethod
    def _of_each(groups: Sequence[str], name: str) -> dict[str, str]:
        return {
            f"{CPUS}/cpu{cpu}/{name}": f"{group}\n" for group in groups for cpu in parse_cpus(group)
        }

    def read(self, root: Path) -> Topology:
        """The machine as it is read by a process that may use all of its CPUs."""
        return read_topology(tree(root, self.files), affinity=self.online)


def pairs(cores: int, first: int = 0) -> list[str]:
    """Cores with two siblings each, numbered as Linux does on x86: the second ones at the end."""
    return [f"{core},{core + cores}" for core in range(first, first + cores)]


def alone(*cpus: int) -> list[str]:
    """Cores without siblings."""
    return list(map(str, cpus))


MACHINES = {
    "smt": Written(pairs(8), nodes=["0-15"], caches=["0-15"]),
    "big-and-little-x86": Written(
        [*(f"{cpu}-{cpu + 1}" for cpu in range(0, 16, 2)), *alone(*range(16, 24))],
        nodes=["0-23"],
        caches=["0-23"],
        atoms="16-23",
    ),
    "big-and-little-arm": Written(
        alone(*range(8)), nodes=["0-7"], capacities={"0-3": 446, "4-7": 1024}
    ),
    "two-sockets": Written(
        pairs(48), nodes=["0-23,48-71", "24-47,72-95"], caches=["0-23,48-71", "24-47,72-95"]
    ),
    "quota-of-4-on-96": Written(pairs(48), nodes=["0-95"], caches=["0-95"], quota=4),
    "several-caches": Written(
        pairs(64),
        nodes=["0-127"],
        caches=[f"{first}-{first + 7},{first + 64}-{first + 71}" for first in range(0, 64, 8)],
    ),
}


def machine(topology: Topology) -> Machine:
    """The machine as a journal of it would say, with nothing of the one that runs the test."""
    return Machine(
        id="5ca1ab1e",
        cpu_model="Example CPU, written by hand",
        physical_cores=topology.physical_cores,
        logical_cpus=topology.logical_cpus,
        usable_cpus=topology.usable_cpus,
        efficiency_cpus=len(topology.efficiency_cpus),
        numa_nodes=len(topology.numa_nodes) or None,
        caches=len(topology.caches) or None,
        cpu_quota=topology.cpu_quota,
        system="Linux",
    )


def every_count(topology: Topology) -> tuple[int, ...]:
    """The worker counts of every word: those of a study that names none.

    1, 2, 4 on 2 cores; 1, 2, 4, 6, 12, 24 on 6 cores with SMT.
    """
    return tuple(sorted({n for counts in worker_counts(topology).values() for n in counts}))
