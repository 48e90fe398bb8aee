"""The machine's CPUs: cores, SMT siblings, NUMA nodes, caches, efficiency cores; what we may use.

A control group may grant less. The last part decides which CPU each worker is pinned to.

Read from `/proc` and `/sys` below a root that is passed in, so that tests can invent machines. On
other systems than Linux psutil gives the counts, and the rest is blank (None or empty).
"""

import contextlib
import math
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import psutil

from scaling.base.errors import UsageError
from scaling.base.files import text_or_empty
from scaling.base.models import CACHE, NODE
from scaling.base.vocabulary import CountWord
from scaling.journal.record import Region

CPUS = "sys/devices/system/cpu"

# Where the kernel does not list efficiency cores by themselves (Intel's cpu_atom), they are those
# of far less capacity than the largest: 0.45 of it on an Apple M1, where merely slower cores of a
# "prime" design have 0.75 and more.
EFFICIENCY_CAPACITY = 0.6

# Keys under which /proc/cpuinfo names the processor: x86, a Raspberry Pi, older ARM, POWER.
MODEL_KEYS = ("model name", "Model", "Hardware", "cpu")


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """The CPUs of a machine, and which of them this process may use.

    `cores` has the logical CPUs of each physical core (empty: cannot be read), `numa_nodes` those
    of each node, `caches` those of each third-level cache. `affinity` are the CPUs that we may run
    on (None: the system has no such mask), `cpu_quota` the CPUs' worth of time that a container
    grants (None: no limit).
    """

    logical_cpus: int
    physical_cores: int | None = None
    cores: tuple[tuple[int, ...], ...] = ()
    numa_nodes: tuple[tuple[int, ...], ...] = ()
    caches: tuple[tuple[int, ...], ...] = ()
    efficiency_cpus: tuple[int, ...] = ()
    affinity: tuple[int, ...] | None = None
    cpu_quota: float | None = None
    cpu_model: str | None = None

    @property
    def usable_logical(self) -> float:
        """Logical CPUs that can be busy at once: the lesser of affinity and quota."""
        count = self.logical_cpus if self.affinity is None else len(self.affinity)
        return count if self.cpu_quota is None else min(count, self.cpu_quota)

    @property
    def usable_cpus(self) -> int:
        """Usable logical CPUs in whole ones, at least one."""
        return max(1, int(self.usable_logical))

    @property
    def usable_cores(self) -> float:
        """Distinct physical cores among them."""
        if self.cores and self.affinity is not None:
            ours = set(self.affinity)
            count = sum(not ours.isdisjoint(core) for core in self.cores)
        else:
            count = self.physical_cores or self.logical_cpus
        return min(count, self.usable_logical)

    @property
    def bends(self) -> tuple[int, ...]:
        """The most workers that fit on cores of the fast kind, on those of one NUMA node, and on
        those of one cache, where there are others, too.
        """
        slow, cores = set(self.efficiency_cpus), self._our_cores
        fast = sum(not core <= slow for core in cores)
        most = {fast, _largest(self.numa_nodes, cores), _largest(self.caches, cores)}
        return tuple(sorted(n for n in most if 1 < n < self.usable_cores))

    def cores_together(self, what: str) -> int:
        """The most of our cores on one third-level `cache`, or NUMA `node`; 2 at least.

        All of them where they are not known to be divided; no more than can be busy at once.
        """
        every = int(self.usable_cores)
        groups = {CACHE: self.caches, NODE: self.numa_nodes}[what]
        return max(2, min(_largest(groups, self._our_cores) or every, every))

    @property
    def _our_cores(self) -> list[set[int]]:
        """The CPUs that we may use of each core, as far as that has any."""
        ours = set(range(self.logical_cpus) if self.affinity is None else self.affinity)
        return [ours.intersection(core) for core in self.cores if ours.intersection(core)]

    def region(self, workers: int) -> Region:
        """The region of a worker count: a core each, a sibling each, or sharing CPUs."""
        if workers <= self.usable_cores:
            return "cores"
        return "smt" if workers <= self.usable_logical else "oversubscribed"


def _largest(groups: Iterable[Collection[int]], cores: Collection[set[int]]) -> int:
    """The number of cores of the largest group of CPUs; 0 without a group."""
    return max((sum(core <= set(group) for core in cores) for group in groups), default=0)


def worker_counts(topology: Topology) -> dict[CountWord, tuple[int, ...]]:
    """The worker counts that words mean on a machine.

    `1..cores` are the powers of two up to the physical cores, and all of those; and as many workers
    as fit on the fast cores, on those of one NUMA node, and on those of one cache.
    """
    cores = max(1, int(topology.usable_cores))
    powers = {2**power for power in range(cores.bit_length())}
    logical = topology.usable_cpus
    return {
        "1..cores": tuple(sorted({*powers, *topology.bends, cores})),
        "cores": (cores,),
        "cpus": (logical,),
        "2x-cpus": (2 * logical,),
    }


def read_topology(root: Path = Path("/"), *, affinity: Collection[int] | None = None) -> Topology:
    """Read the topology under `root`; `affinity` is this process's own mask unless given."""
    if affinity is None and hasattr(os, "sched_getaffinity"):
        affinity = os.sched_getaffinity(0)
    online = parse_cpus(text_or_empty(root / CPUS / "online"))
    cores = _cores(root, online)
    return Topology(
        logical_cpus=len(online) or psutil.cpu_count() or 1,
        physical_cores=len(cores) or psutil.cpu_count(logical=False),
        cores=cores,
        numa_nodes=_numa_nodes(root),
        caches=_caches(root, online),
        efficiency_cpus=_efficiency_cpus(root, online),
        affinity=None if affinity is None else tuple(sorted(affinity)),
        cpu_quota=cpu_quota(root),
        cpu_model=_cpu_model(root),
    )


def parse_cpus(text: str) -> tuple[int, ...]:
    """The CPUs in a kernel list such as `0-3,8`; empty for any other text."""
    cpus: set[int] = set()
    try:
        for part in filter(None, text.strip().split(",")):
            first, _, last = part.partition("-")
            cpus.update(range(int(first), int(last or first) + 1))
    except ValueError:
        return ()
    return tuple(sorted(cpus))


def _cores(root: Path, online: Iterable[int]) -> tuple[tuple[int, ...], ...]:
    cores = set()
    for cpu in online:
        folder = root / CPUS / f"cpu{cpu}" / "topology"
        # The second is the first's name before Linux 5.3 (Documentation/ABI/stable/sysfs-devices…).
        siblings = text_or_empty(folder / "core_cpus_list") or text_or_empty(
            folder / "thread_siblings_list"
        )
        cores.add(parse_cpus(siblings))
    return () if () in cores else tuple(sorted(cores))


def _numa_nodes(root: Path) -> tuple[tuple[int, ...], ...]:
    folder = root / "sys/devices/system/node"
    lists = (parse_cpus(text_or_empty(node / "cpulist")) for node in folder.glob("node[0-9]*"))
    return tuple(sorted(cpus for cpus in lists if cpus))  # a node may have memory only


def _caches(root: Path, online: Iterable[int]) -> tuple[tuple[int, ...], ...]:
    shared = "cache/index3/shared_cpu_list"  # index 2 is the second level, 0 and 1 the first
    lists = {parse_cpus(text_or_empty(root / CPUS / f"cpu{cpu}" / shared)) for cpu in online}
    return tuple(sorted(lists - {()}))


def _efficiency_cpus(root: Path, online: Iterable[int]) -> tuple[int, ...]:
    listed = parse_cpus(text_or_empty(root / "sys/devices/cpu_atom/cpus"))
    if listed:
        return listed
    capacities = {cpu: text_or_empty(root / CPUS / f"cpu{cpu}" / "cpu_capacity") for cpu in online}
    known = {cpu: int(text) for cpu, text in capacities.items() if text.isdecimal()}
    limit = EFFICIENCY_CAPACITY * max(known.values(), default=0)
    return tuple(sorted(cpu for cpu, capacity in known.items() if capacity < limit))


def _cpu_model(root: Path) -> str | None:
    lines = text_or_empty(root / "proc/cpuinfo").splitlines()
    pairs = (line.partition(":") for line in lines)
    values = {key.strip(): value.strip() for key, _, value in pairs}
    return next((values[key] for key in MODEL_KEYS if values.get(key)), None)


# ----------------------------------------------------------------------------------- control groups
# The control groups of this process, version 1 or 2: their folders, CPU quota and memory limit.
#
# A quota bends a scaling curve as the number of cores does, so it counts as topology. The folders
# also hold `cpu.stat`, from which throttling is read. Beyond the limit of memory the kernel kills.


def cpu_folders(root: Path = Path("/")) -> list[Path]:
    """Folders of this process's CPU control groups, its own first, then those above it.

    `root` is where `/proc` and `/sys` are found. Empty where there are no control groups.
    """
    return _folders(root, "cpu")


def memory_limit_bytes(root: Path = Path("/")) -> float:
    """Bytes of memory that the strictest control group allows; infinite without a limit."""
    texts = (
        text_or_empty(folder / name)
        for folder in _folders(root, "memory")
        for name in ("memory.max", "memory.limit_in_bytes")
    )
    return min((int(text) for text in texts if text.isdecimal()), default=math.inf)


def _folders(root: Path, controller: str) -> list[Path]:
    groups = _groups(text_or_empty(root / "proc/self/cgroup"), controller)
    folders = []
    for version, top, at in _mounts(text_or_empty(root / "proc/self/mountinfo"), controller):
        if version not in groups:
            continue
        group = groups[version]
        # A path of another namespace: only the top of the mount is visible.
        ours = group.is_relative_to(top) and ".." not in group.parts
        below = group.relative_to(top) if ours else PurePosixPath()
        for part in (below, *below.parents):
            folder = root / at.relative_to("/") / part.as_posix().lstrip("/")
            if folder.is_dir() and folder not in folders:
                folders.append(folder)
    return folders


def cpu_quota(root: Path = Path("/")) -> float | None:
    """CPUs' worth of time that the strictest control group grants; None: no limit."""
    quotas = [quota for folder in cpu_folders(root) if (quota := _quota(folder)) is not None]
    return min(quotas, default=None)


def _quota(folder: Path) -> float | None:
    words = text_or_empty(folder / "cpu.max").split() or [
        text_or_empty(folder / "cpu.cfs_quota_us"),
        text_or_empty(folder / "cpu.cfs_period_us"),
    ]
    try:
        quota_us, period_us = map(int, words)
    except ValueError:  # "max", or nothing there
        return None
    return quota_us / period_us if quota_us > 0 and period_us > 0 else None


def _groups(text: str, controller: str) -> dict[int, PurePosixPath]:
    """This process's group in each version of the hierarchy, from /proc/self/cgroup."""
    groups = {}
    for line in text.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            groups[2] = PurePosixPath(path)
        elif controller in controllers.split(","):
            groups[1] = PurePosixPath(path)
    return groups


def _mounts(text: str, controller: str) -> Iterator[tuple[int, PurePosixPath, PurePosixPath]]:
    """The hierarchies that can hold a controller, from /proc/self/mountinfo (proc(5)): the version,
    which of its groups is on top, and where that is mounted.
    """
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if len(fields) < 5 or len(kind) < 3:
            continue
        top, at = PurePosixPath(fields[3]), PurePosixPath(fields[4])
        if kind[0] == "cgroup2":
            yield 2, top, at
        elif kind[0] == "cgroup" and controller in kind[2].split(","):
            yield 1, top, at


# ------------------------------------------------------------------------------------------ pinning
# The CPU that each worker is pinned to: its own core as long as there are cores. A load generator
# has CPUs that no worker has, where there are enough.
#
# The order is that of the regions of a curve (`Topology.region`): distinct physical cores first,
# those of one NUMA node and of one cache after the other, efficiency cores at their end; then the
# SMT siblings in the same order; then round robin.


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
    """The CPUs of workers and generator processes that share none; None where they must share.

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
