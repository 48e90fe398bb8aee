"""From the name of a workload to its class: a built-in's name, or `package.module:Name`."""

import importlib

from workers.worker.workload import Workload

BUILT_IN = {
    "compute": "workers.workloads.compute:Compute",
    "shared": "workers.workloads.shared:Shared",
    "echo": "workers.workloads.echo:Echo",
    "stream": "workers.workloads.stream:Stream",
    "scrape": "workers.workloads.scrape:Scrape",
    "fetch": "workers.workloads.fetch:Fetch",
    "lifecycle": "workers.workloads.lifecycle:Lifecycle",
    "handoff": "workers.workloads.handoff:Handoff",
    "sleep": "workers.workloads.sleep:Sleep",
    "spawn": "workers.workloads.spawn:Spawn",
    "cancel": "workers.workloads.cancel:Cancel",
    "gather": "workers.workloads.gather:Gather",
}


class UnknownWorkloadError(ValueError):
    """No workload of that name."""


def load_workload(name: str) -> type[Workload]:
    """Import a workload's class.

    Raises:
        UnknownWorkloadError: no built-in of that name, no such class in the module, or the class
            is not a `Workload`.
        ImportError: the module, or something it needs, cannot be imported.
    """
    path = BUILT_IN.get(name, name)
    module_name, _, class_name = path.partition(":")
    if not class_name:
        raise UnknownWorkloadError(
            f"unknown workload {name!r}; there are: {', '.join(BUILT_IN)}, "
            f"or name your own as package.module:Name"
        )
    found = getattr(importlib.import_module(module_name), class_name, None)
    if not isinstance(found, type) or not issubclass(found, Workload):
        raise UnknownWorkloadError(f"{module_name} has no workload {class_name!r}")
    return found
