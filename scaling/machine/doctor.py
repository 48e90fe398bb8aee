"""The checks of `scaling doctor` before a study: a table of small checks.

A check reads a `MachineSnapshot` and nothing else, and yields any number of findings.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.console import Group
from rich.table import Table
from rich.text import Text

from scaling.builds.arms import SCRUBBED_PREFIXES
from scaling.builds.cpython import Interpreter
from scaling.builds.interpreters.find import SOUND_SINCE, may_crash
from scaling.machine.disturbance import MOST_STEAL
from scaling.machine.identity import virtualised
from scaling.machine.snapshot import MachineSnapshot

# ------------------------------------------------------------------------------------------- advice
# One finding of `scaling doctor`: what it is, in plain words, and what to do about it.

type Severity = Literal["ok", "warning", "stop"]

SEVERITIES: tuple[Severity, ...] = ("ok", "warning", "stop")


@dataclass(frozen=True, slots=True)
class Advice:
    """One finding. `warning`: figures may suffer; `stop`: figures would mislead.

    `remedy` says what to do; it is empty if nothing can be done.
    """

    severity: Severity
    finding: str
    remedy: str = ""


def worst(found: Iterable[Advice]) -> Severity:
    """The highest severity among the findings."""
    return max((each.severity for each in found), key=SEVERITIES.index, default="ok")


# --------------------------------------------------------------------------------------------- cpus
# The CPUs: how many a study may use, and what changes their speed.

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
    """The kernel's setting of the CPUs' clock frequency."""
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


# ------------------------------------------------------------------------------------------- limits
# Limits of the system: open files, huge pages, and what cannot be read on it.

# Workers hold some ten open files each and one or two per connection: `fetch` with its 5,000
# connections a worker needs as many for three threads. Children raise their own soft limit.
LEAST_OPEN_FILES = 16_384
THP = "sys/kernel/mm/transparent_hugepage/enabled"


def open_files(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """The limit on open files, which includes sockets."""
    limit = snapshot.open_files
    if limit is not None and limit < LEAST_OPEN_FILES:
        yield Advice(
            "warning",
            f"a process may open {limit:,} files at most; a plan leaves out cells that need more "
            f"(many workers with many connections)",
            f"as root, in the shell that starts the study: ulimit -n {LEAST_OPEN_FILES}",
        )


def huge_pages(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """Transparent huge pages: memory figures change in steps of 2 MiB."""
    active = re.search(r"\[(\w+)\]", snapshot.text(THP))
    if active and active[1] == "always":
        yield Advice(
            "warning",
            "transparent huge pages are always on: memory grows in steps of 2 MiB",
            f"as root: echo madvise > /{THP}",
        )


def system(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """The readings that stay blank on systems other than Linux."""
    if snapshot.system != "Linux":
        yield Advice(
            "warning",
            f"{snapshot.system or 'this system'} is not Linux: PSS, peak memory, throttling, "
            f"steal, page faults and the CPU topology stay blank; workers cannot be pinned",
            "compare only with studies from the same system",
        )


# ------------------------------------------------------------------------------------------ pythons
# The interpreters on this machine, and environment variables that Python would read.


def free_threaded(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """Free-threaded builds that are known to crash."""
    free = [one for one in snapshot.interpreters if one.free_threaded]
    if not free:
        yield Advice(
            "warning",
            "no free-threaded interpreter is installed",
            "a study installs the one that it needs (takes some minutes)",
        )
    for one in free:
        if may_crash(one.version, free_threaded=True):
            yield Advice(
                "warning",
                f"{one.build} ({one.version}, {one.origin}) is older than {SOUND_SINCE}: "
                f"it can crash with several loops",
                f"install {SOUND_SINCE} or newer",
            )


def comparable(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """Versions whose two builds differ in more than the GIL."""
    by_minor: dict[str, list[Interpreter]] = defaultdict(list)
    for one in snapshot.interpreters:
        by_minor[one.build.removesuffix("t")].append(one)
    for minor, found in by_minor.items():
        free = [one for one in found if one.free_threaded]
        gil = [one for one in found if not one.free_threaded]
        if not free or not gil:
            continue
        if any(one.comparable_with(other) for one in free for other in gil):
            yield Advice("ok", f"{minor} and {minor}t differ in the GIL only")
            continue
        first, second = gil[0], free[0]
        yield Advice(
            "warning",
            f"{first.build} ({_kind(first)}) and {second.build} ({_kind(second)}) differ in more "
            f"than the GIL",
            "a study of both installs a pair from one place by itself",
        )


def variables(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """Variables that would change a measured process, and are not passed to it."""
    names = sorted(
        name for name in snapshot.environment if name.upper().startswith(SCRUBBED_PREFIXES)
    )
    if names:
        yield Advice(
            "ok",
            f"{', '.join(names)} in the environment: not passed to the measured processes",
            "to measure with such a setting, use an arm that has it (3.14+mimalloc, 3.14t+gil)",
        )


def _kind(one: Interpreter) -> str:
    return f"{one.version}, {one.origin}, {one.flags}, {one.compiler or 'unknown compiler'}"


# -------------------------------------------------------------------------------------------- quiet
# Whether the machine is quiet: other programs, steal, free memory.

MOST_OTHERS = 0.10  # CPUs' worth; a desktop at rest takes some hundredths
FULL = 0.5  # of the CPUs: there is hardly one left to measure on
NAMED = 3  # programs that are named
LEAST_FREE_BYTES = 2 * 2**30  # 12 workers as processes with aiohttp take some 0.5 GiB
MOST_SWAPPED_BYTES = 64 * 2**20  # a little is swapped out on any machine


def others(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """CPU time used by other programs."""
    share = snapshot.sample.other_cpu_fraction
    if share is None:
        yield Advice("warning", "the CPU time of other programs cannot be read")
        return
    taken = share * snapshot.topology.logical_cpus
    if taken <= MOST_OTHERS:
        yield Advice("ok", "the CPUs are idle")
        return
    names = ", ".join(f"{name} {cpus:.1f}" for name, cpus in list(snapshot.busy.items())[:NAMED])
    yield Advice(
        "stop" if share > FULL else "warning",
        f"other programs use {taken:.1f} of {snapshot.topology.logical_cpus} CPUs"
        + (f" ({names})" if names else ""),
        "stop them or wait: runs beside them are slower and marked suspect",
    )


def load(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """The load average of the last minute."""
    loaded, cpus = snapshot.sample.load_1m, snapshot.topology.logical_cpus
    if loaded is None:
        yield Advice("warning", "the load average cannot be read")
    elif loaded > max(0.5, cpus / 4):
        yield Advice(
            "warning",
            f"the load average of the last minute is {loaded:.1f} on {cpus} CPUs",
            "unless it was a study of yours, find out what runs here from time to time",
        )


def steal(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """CPU time that the hypervisor gave to other machines."""
    stolen = snapshot.sample.steal_fraction
    if stolen is not None and stolen > MOST_STEAL:
        yield Advice(
            "warning",
            f"the hypervisor gives {stolen:.0%} of the CPU time to other machines (steal)",
            "measure at another time, or on a machine with dedicated CPUs",
        )


def memory(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """Free memory, and memory that is swapped out."""
    free, swapped = snapshot.memory_free_bytes, snapshot.swap_used_bytes
    if free is not None and free < LEAST_FREE_BYTES:
        yield Advice(
            "warning",
            f"{free / 2**30:.1f} GiB of memory are free",
            "use fewer worker processes, or stop other programs",
        )
    if swapped is not None and swapped > MOST_SWAPPED_BYTES:
        yield Advice(
            "warning",
            f"{swapped / 2**20:,.0f} MiB are swapped out: memory figures may be too small",
            "stop what does not fit in memory, then run `swapoff -a` and `swapon -a` as root",
        )


# --------------------------------------------------------------------------------------- all checks

CHECKS: Mapping[str, Callable[[MachineSnapshot], Iterable[Advice]]] = {
    "cores": cores,
    "quota": quota,
    "affinity": affinity,
    "SMT": siblings,
    "efficiency cores": efficiency,
    "NUMA": nodes,
    "virtual machine": virtual,
    "governor": governor,
    "turbo": turbo,
    "other programs": others,
    "load": load,
    "steal": steal,
    "memory": memory,
    "open files": open_files,
    "huge pages": huge_pages,
    "system": system,
    "free-threading": free_threaded,
    "builds": comparable,
    "environment": variables,
}


def examine(snapshot: MachineSnapshot) -> list[Advice]:
    """All findings of all checks, in the order of the table."""
    return [advice for check in CHECKS.values() for advice in check(snapshot)]


# ------------------------------------------------------------------------------------ on a terminal
# The findings of `scaling doctor` on a terminal: the worst first, each with its remedy.

STYLES = {"ok": "green", "warning": "yellow", "stop": "bold red"}
SUMMARIES = {
    "ok": "Nothing here will disturb the figures.",
    "warning": "You can run a study. Keep the warnings in mind when you read its figures.",
    "stop": "Do not measure like this: the figures would mislead.",
}


def report(found: Sequence[Advice]) -> Group:
    """The findings with their remedies, the worst first, then a summary."""
    ordered = sorted(found, key=lambda each: -SEVERITIES.index(each.severity))
    table = Table.grid(padding=(0, 1, 0, 0))
    for each in ordered:
        table.add_row(Text(each.severity, STYLES[each.severity]), each.finding)
        if each.remedy:
            table.add_row("", Text(each.remedy, "dim"))
    return Group(table, Text(f"\n{SUMMARIES[worst(found)]}", "bold"))
