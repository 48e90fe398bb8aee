"""Whether the machine is quiet: what else runs on it, what the host takes, what memory is left."""

from collections.abc import Iterator

from scaling.machine.advice import Advice
from scaling.machine.disturbance import MOST_STEAL
from scaling.machine.snapshot import MachineSnapshot

MOST_OTHERS = 0.10  # CPUs' worth; a desktop at rest takes some hundredths
FULL = 0.5  # of the CPUs: there is hardly one left to measure on
NAMED = 3  # programs told by name
LEAST_FREE_BYTES = 2 * 2**30  # 12 workers as processes with aiohttp take some 0.5 GiB
SWAP_TOLD_BYTES = 64 * 2**20  # a little of it lies there on any machine


def others(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """CPU time that other programs take."""
    share = snapshot.sample.other_cpu_fraction
    if share is None:
        yield Advice("mind", "what other programs take cannot be read here")
        return
    taken = share * snapshot.topology.logical_cpus
    if taken <= MOST_OTHERS:
        yield Advice("fine", "the CPUs are idle")
        return
    names = ", ".join(f"{name} {cpus:.1f}" for name, cpus in list(snapshot.busy.items())[:NAMED])
    yield Advice(
        "stop" if share > FULL else "mind",
        f"other programs take {taken:.1f} of {snapshot.topology.logical_cpus} CPUs"
        + (f" ({names})" if names else ""),
        "end them or wait: runs beside them come out slower, and are marked suspect",
    )


def load(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """The load average, which remembers the last minutes."""
    loaded, cpus = snapshot.sample.load_1m, snapshot.topology.logical_cpus
    if loaded is None:
        yield Advice("mind", "the load of the last minute cannot be read here")
    elif loaded > max(0.5, cpus / 4):
        yield Advice(
            "mind",
            f"the load of the last minute is {loaded:.1f} on {cpus} CPUs",
            "if that was not a study of yours, find out what works here at times",
        )


def steal(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """CPU time that the hypervisor gave to others."""
    stolen = snapshot.sample.steal_fraction
    if stolen is not None and stolen > MOST_STEAL:
        yield Advice(
            "mind",
            f"the hypervisor takes {stolen:.0%} of the CPUs' time for other machines",
            "measure at another hour, or on a machine with CPUs of its own",
        )


def memory(snapshot: MachineSnapshot) -> Iterator[Advice]:
    """Memory that is free, and memory that has been moved out."""
    free, swapped = snapshot.memory_free_bytes, snapshot.swap_used_bytes
    if free is not None and free < LEAST_FREE_BYTES:
        yield Advice(
            "mind",
            f"{free / 2**30:.1f} GiB of memory are free",
            "leave out large worker counts of processes, or end other programs",
        )
    if swapped is not None and swapped > SWAP_TOLD_BYTES:
        yield Advice(
            "mind",
            f"{swapped / 2**20:,.0f} MiB are swapped out: memory figures may be too small",
            "end what does not fit in memory, then `swapoff -a` and `swapon -a` bring it back",
        )
