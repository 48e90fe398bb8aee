"""Notes on a study as a whole: drift and outliers, above its tables; the machine it was run on."""

import pandas as pd

from scaling.analysis.statistics.drift import Drift
from scaling.analysis.validity import watched_cpus
from scaling.base import formats
from scaling.builds.arms import switched
from scaling.journal.record import StudyLine


def study_notes(frame: pd.DataFrame, drift: Drift) -> list[str]:
    """A sentence for each note; often none."""
    arms = map(str, frame["arm"].unique())
    return [note for note in (*switched(arms), drift.text, _outliers(frame)) if note]


def _outliers(frame: pd.DataFrame) -> str:
    """`2 runs are outliers of their cells, labelled and kept`."""
    count = int((frame["outlier"] & frame["valid"]).sum())
    if not count:
        return ""
    are = "is an outlier of its cell" if count == 1 else "are outliers of their cells"
    return f"{formats.plural(count, 'run')} {are}: labelled, and kept in every figure."


def machine_text(study: StudyLine) -> str:
    """`Example CPU, 2 cores, 4 CPUs, 2 NUMA nodes, virtual machine (kvm), Linux 6.1`."""
    machine = study.machine
    cores, cpus = machine.physical_cores, machine.usable_cpus
    nodes, slower = machine.numa_nodes or 1, machine.efficiency_cpus or 0
    not_all_ours = machine.logical_cpus and watched_cpus(machine) is None
    parts = [
        machine.cpu_model or "",
        formats.plural(cores, "core") if cores else "",
        formats.plural(cpus, "usable CPU") if cpus and cpus != cores else "",
        f"CPU quota {machine.cpu_quota:g}" if machine.cpu_quota else "",
        "other programs' use of them unknown" if not_all_ours else "",
        formats.plural(nodes, "NUMA node") if nodes > 1 else "",
        formats.plural(slower, "efficiency CPU") if slower else "",
        _virtual(machine.virtualised),
        machine.kernel or "",
    ]
    return ", ".join(part for part in parts if part)


def _virtual(virtualised: str | None) -> str:
    """That the machine is a virtual one, and of which kind if that is known."""
    if virtualised is None:
        return ""
    return "virtual machine" + f" ({virtualised})" * (virtualised != "unknown")
