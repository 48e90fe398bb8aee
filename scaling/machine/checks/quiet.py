"""Whether the machine is quiet: other programs, steal, free memory."""

from collections.abc import Iterator

from scaling.machine.advice import Advice
from scaling.machine.disturbance import MOST_STEAL
from scaling.machine.snapshot import MachineSnapshot

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
