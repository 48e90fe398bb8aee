"""A short name for a machine, for the folder of its results: `epyc-2-cores`."""

import re

from scaling.base.formats import plural
from scaling.journal.record import Machine

# Words of a CPU's name that say nothing of its kind.
NO_KIND = {"amd", "intel", "apple", "arm", "core", "cpu", "processor", "gen", "with"}


def label(machine: Machine) -> str:
    """The kind of CPU and the number of cores; no name that anyone gave the machine is in it."""
    plain = re.sub(r"\([^)]*\)", " ", (machine.cpu_model or "").lower())
    words = re.findall(r"[a-z][a-z0-9-]*", plain)
    kind = next((word for word in words if word not in NO_KIND), "machine")
    cores = machine.physical_cores or machine.usable_cpus or 1
    return f"{kind}-{plural(cores, 'core').replace(' ', '-')}"
