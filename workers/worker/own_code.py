"""Classes and functions that a worker in a thread shares with no other: modules imported anew.

Threads that call the same functions of the same classes write to the same reference counts and
caches. A worker that imports the modules for itself has its own copy of what they hold. What
workers must share, such as a lock, belongs in `workers.worker`, which is never imported anew.
"""

import importlib
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

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
