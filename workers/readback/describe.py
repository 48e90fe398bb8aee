"""`python -m workers --describe`: what can be run in this environment.

`scaling` runs it once in each child environment, and plans from the answer alone.
"""

import os
import platform
import sys
import sysconfig
from contextlib import AbstractContextManager, nullcontext
from importlib import metadata
from typing import Any

from workers.cell import SCHEMA
from workers.host.models import MODELS, refusal
from workers.loops.registry import LOOPS, import_loop, loop_version
from workers.readback.gil import gil_enabled
from workers.readback.process import allocator, os_threads
from workers.readback.refusals import Isolation, load_choices, refusals, uneven
from workers.worker.registry import built_in, load_workload
from workers.worker.workload import parameters_of, reason_alone

ENTRY_POINTS = "scaling.workloads"


def describe(named: list[str]) -> dict[str, Any]:
    """Describe this environment: Python, packages, loops, models and workloads.

    Workloads are the built-in ones, those of the entry-point group `scaling.workloads`, and
    `named` ones, each as `package.module:Name`.
    """
    python = _python()  # before any workload is imported, since that may enable the GIL
    loops = {name: _loop(name) for name in LOOPS}
    models = {name: {"refused": refusal(name)} for name in MODELS}
    found = {entry.name: entry.value for entry in metadata.entry_points(group=ENTRY_POINTS)}
    can_isolate = models["interpreters"]["refused"] is None
    installed = [name for name in LOOPS if loops[name]["refused"] is None]
    with Isolation(installed) if can_isolate else nullcontext() as isolation:
        workloads = {
            name: _workload(path, list(loops), nullcontext(isolation))
            for name, path in built_in().items()
        }
    # Unknown code may leave a sub-interpreter in any state, so each is tried in its own.
    for name, path in (found | {name: name for name in named}).items():
        own = Isolation(installed) if can_isolate else nullcontext()
        workloads[name] = _workload(path, list(loops), own)
    return {
        "schema": SCHEMA,
        "python": python,
        "packages": {each.name: each.version for each in metadata.distributions()},
        "loops": loops,
        "models": models,
        "workloads": workloads,
    }


def _python() -> dict[str, Any]:
    return {
        "version": platform.python_version(),
        "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
        "config_args": config_args(),
        "compiler": platform.python_compiler(),
        "pgo": "--enable-optimizations" in config_args(),
        "lto": any(argument.startswith("--with-lto") for argument in config_args()),
        "libc": " ".join(platform.libc_ver()).strip() or None,
        "openssl": _openssl(),
        "allocator": allocator(),
        "gil_enabled": gil_enabled(),
        "thread_inherit_context": getattr(sys.flags, "thread_inherit_context", None),
        "context_aware_warnings": getattr(sys.flags, "context_aware_warnings", None),
    }


def config_args() -> list[str]:
    """The options that this build was configured with, except those that contain a path."""
    import shlex

    options = shlex.split(sysconfig.get_config_var("CONFIG_ARGS") or "")
    return [option for option in options if os.sep not in option]


def _openssl() -> str | None:
    try:
        import ssl
    except ImportError:
        return None
    return ssl.OPENSSL_VERSION


def _loop(name: str) -> dict[str, Any]:
    try:
        import_loop(name)
    except ImportError as error:
        return {"version": None, "refused": f"not installed: {error}"}
    except Exception as error:  # installed, but does not support this interpreter
        return {"version": None, "refused": f"{type(error).__name__}: {error}"}
    return {"version": loop_version(name), "refused": None}


def _workload(
    path: str, loops: list[str], isolated: AbstractContextManager[Isolation | None]
) -> dict[str, Any]:
    try:
        before = os_threads() or 0
        workload = load_workload(path)
        threads = (os_threads() or 0) - before
        loaded = load_choices(workload)
        with isolated as isolation:
            refused = refusals(path, workload, loops, loaded, isolation, threads)
        return {
            "path": path,
            "summary": (workload.__doc__ or "").strip().partition("\n")[0],
            "operation": workload.operation,
            "sent": workload.sent,
            "finite": workload.finite,
            "served": workload.served,
            "scaled": list(workload.scaled),
            "whole": workload.whole,
            "alone": reason_alone(workload),
            "in_flight": workload.in_flight,
            "descriptors": workload.descriptors,
            "services": list(workload.services),
            "holds": vars(workload.holds) if workload.holds else None,
            "rounds": vars(workload.rounds) if workload.rounds else None,
            "divided": workload.divided,
            "refused": None,
            "refusals": refused,
            "uneven": uneven(workload),
            "parameters": parameters_of(workload),
        }
    except (Exception, SystemExit) as error:  # whatever a user's code raises is the reason
        return {"path": path, "summary": "", "refused": f"{type(error).__name__}: {error}"}
