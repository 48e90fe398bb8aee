"""From a workload's name to its class. Every file in `workers/workloads` is a built-in workload.

`my_load.py` holds the class `MyLoad` and is called "my-load": to add a workload, add its file. Your
own, from elsewhere, is named `package.module:Name`.
"""

import importlib
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import workers.workloads
from workers.worker.workload import Workload

# ----------------------------------------------------------------------------------------- own code
# Classes and functions that a worker in a thread shares with no other: modules imported anew.
#
# Threads that call the same functions of the same classes write to the same reference counts and
# caches. A worker that imports the modules for itself has its own copy of what they hold. What
# workers must share, such as a lock, belongs in `workers.worker.shared`, which is never imported
# anew.

BUILT_IN = "workers.workloads"  # the package of the built-in workloads

_IMPORTING = threading.Lock()  # `sys.modules` belongs to the interpreter, not to a thread


@contextmanager
def imported_anew(*names: str) -> Iterator[None]:
    """While the block runs, modules of these packages are imported anew, for the calling thread.

    Afterwards `sys.modules` has those again that were there before. No other thread may import
    anything of these packages meanwhile, except in such a block, which waits.
    """
    with _IMPORTING:
        shared = {each: sys.modules.pop(each) for each in _modules_of(names)}
        try:
            yield
        finally:
            for each in _modules_of(names):
                del sys.modules[each]
            sys.modules.update(shared)
            for each, module in shared.items():  # an import has set it in the package, too
                package, _, attribute = each.rpartition(".")
                if package in sys.modules:
                    setattr(sys.modules[package], attribute, module)


def package_of(path: str) -> str:
    """What is to be imported anew for `package.module:Name` or the name of a built-in workload."""
    module, colon, _ = path.partition(":")
    if not colon or module.startswith(f"{BUILT_IN}."):
        return BUILT_IN
    return module.partition(".")[0]


def is_own(kind: type) -> bool:
    """Whether a class is one that was imported anew: other threads find another one there."""
    module = importlib.import_module(kind.__module__)
    return getattr(module, kind.__qualname__, None) is not kind


def _modules_of(packages: tuple[str, ...]) -> list[str]:
    inside = tuple(f"{package}." for package in packages)
    return [each for each in sys.modules if each in packages or each.startswith(inside)]


# ----------------------------------------------------------------------------------------- registry


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
