"""The check-up of a machine before a study: one table of small checks, each with its findings.

A check reads a `MachineSnapshot` and nothing else; it answers with any number of
findings, none where there is nothing to say.
"""

from collections.abc import Callable, Iterable, Mapping

from scaling.machine.advice import Advice, gravest
from scaling.machine.checks import cpus, limits, pythons, quiet
from scaling.machine.snapshot import MachineSnapshot

__all__ = ["CHECKS", "Advice", "examine", "gravest"]

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
    "builds": pythons.alike,
    "environment": pythons.variables,
}


def examine(snapshot: MachineSnapshot) -> list[Advice]:
    """Every finding of every check, in the table's order."""
    return [advice for check in CHECKS.values() for advice in check(snapshot)]
