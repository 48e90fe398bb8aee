"""From a workload's name to its class. Every file in `workers/workloads` is a built-in workload.

`my_load.py` holds the class `MyLoad` and is called "my-load": to add a workload, add its file. Your
own, from elsewhere, is named `package.module:Name`.
"""

import importlib
import os

import workers.workloads
from workers.worker.workload import Workload


class UnknownWorkloadError(ValueError):
    """There is no workload of that name."""


def built_in() -> dict[str, str]:
    """Names of the built-in workloads, in alphabetical order, and `module:Class` of each."""
    files = sorted(os.listdir(workers.workloads.__path__[0]))
    stems = [file[:-3] for file in files if file.endswith(".py") and file != "__init__.py"]
    return {
        stem.replace("_", "-"): f"workers.workloads.{stem}:{stem.title().replace('_', '')}"
        for stem in stems
    }


def load_workload(name: str) -> type[Workload]:
    """Import a workload's class.

    Raises:
        UnknownWorkloadError: no built-in has that name, the module has no such class, or the class
            is not a `Workload`.
        ImportError: the module, or something it needs, cannot be imported.
    """
    known = built_in()
    module_name, _, class_name = known.get(name, name).partition(":")
    if not class_name:
        raise UnknownWorkloadError(
            f"unknown workload {name!r}; known: {', '.join(known)}, "
            f"or name your own as package.module:Name"
        )
    found = getattr(importlib.import_module(module_name), class_name, None)
    if not isinstance(found, type) or not issubclass(found, Workload):
        raise UnknownWorkloadError(f"{module_name} has no workload {class_name!r}")
    return found
