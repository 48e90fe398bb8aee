"""What `scaling doctor` checks before a study: a table of small checks.

A check reads a `MachineSnapshot` and nothing else, and yields any number of findings.
"""

from collections.abc import Callable, Iterable, Mapping

from scaling.machine.advice import Advice, worst
from scaling.machine.checks import cpus, limits, pythons, quiet
from scaling.machine.snapshot import MachineSnapshot

__all__ = ["CHECKS", "Advice", "examine", "worst"]

type Check = Callable[[MachineSnapshot], Iterable[Advice]]

CHECKS: Mapping[str, Check] = {
    "cores": cpus.cores,
    "quota": cpus.quota,
    "affinity": cpus.affinity,
    "SMT": cpus.siblings,
    "efficiency cores": cpus.efficiency,
    "NUMA": cpus.nodes,
    "virtual machine": cpus.virtual,
    "governor": cpus.governor,
    "turbo": cpus.turbo,
    "other programs": quiet.others,
    "load": quiet.load,
    "steal": quiet.steal,
    "memory": quiet.memory,
    "open files": limits.open_files,
    "huge pages": limits.huge_pages,
    "system": limits.system,
    "free-threading": pythons.free_threaded,
    "builds": pythons.comparable,
    "environment": pythons.variables,
}


def examine(snapshot: MachineSnapshot) -> list[Advice]:
    """All findings of all checks, in the order of the table."""
    return [advice for check in CHECKS.values() for advice in check(snapshot)]
