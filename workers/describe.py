"""`python -m workers --describe`: what can be run in this environment, and why the rest cannot.

`scaling` runs it once in each child environment, and plans from the answer alone. A workload is
loaded to find out which models and loops it cannot run under.
"""

import importlib
import os
import platform
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from importlib import metadata
from itertools import combinations
from types import TracebackType
from typing import Any, NamedTuple, Self

from workers.cell import SCHEMA
from workers.host.models import FORKING, MODELS, refusal, too_many_threads
from workers.loops import LOOPS, import_loop, loop_version
from workers.readback.gil import gil_enabled
from workers.readback.process import allocator, os_threads
from workers.worker.missing import missing_package
from workers.worker.workload import (
    Workload,
    build,
    built_in,
    load_workload,
    parameters_of,
    reason_against,
    reason_alone,
)

# ---------------------------------------------------------------------------------------- isolation
# A sub-interpreter to try imports in: many extension modules refuse to load there.


class Isolation:
    """One sub-interpreter, reused for all workloads tried, since imports take most of the time.

    Needs CPython 3.14 (`concurrent.interpreters`). `loops` has for each of the `installed` loops
    the reason why it cannot be imported there, None if it can.
    """

    def __init__(self, installed: Iterable[str]) -> None:
        self.loops: dict[str, str | None] = dict.fromkeys(installed)

    def __enter__(self) -> Self:
        """Create the sub-interpreter, with this one's import path, and try the loops."""
        self._interpreters: Any = importlib.import_module("concurrent.interpreters")
        self._interpreter = self._interpreters.create()
        try:
            self._interpreter.exec(f"import sys; sys.path[:] = {sys.path!r}")
            for name in self.loops:
                code = f"from workers.loops import import_loop; import_loop({name!r})"
                self.loops[name] = self._refuses(code)
        except BaseException:
            self._interpreter.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the sub-interpreter."""
        self._interpreter.close()

    def refuses_workload(self, path: str, parameters: dict[str, Any]) -> str | None:
        """The reason that a workload cannot be loaded there with these parameters, or None."""
        return self._refuses(
            "from workers.worker.workload import build, load_workload; "
            f"build(load_workload({path!r}), {parameters!r}).load()"
        )

    def _refuses(self, code: str) -> str | None:
        try:
            self._interpreter.exec(code)
        except self._interpreters.ExecutionFailed as error:
            return f"does not load in a sub-interpreter: {error.excinfo.msg}"
        return None


# ----------------------------------------------------------------------------------------- refusals

type Values = tuple[tuple[str, Any], ...]  # parameters and their values; () means the defaults


class Tried(NamedTuple):
    """The reason that a workload cannot be loaded, or None; and how many threads that has started.

    A module that was loaded before starts no thread again, so those of the defaults count for every
    choice.
    """

    refused: str | None
    threads: int = 0


type Loaded = dict[Values, Tried]

# The number of threads that a choice has started: a module that one workload has loaded (NumPy for
# `kind=frame`, say) starts none for another workload with the same choice.
_started: dict[Values, int] = {}


def load_choices(workload: type[Workload]) -> Loaded:
    """Load a workload with its defaults, and once for each other choice of a parameter.

    Raises:
        Exception: whatever the defaults raised, if no other choice could be loaded either.
    """
    loaded: Loaded = {}
    failure: BaseException | None = None
    for values in _choices(workload):
        before, refused = os_threads() or 0, None
        try:
            build(workload, dict(values)).load()
        except (Exception, SystemExit) as error:  # whatever a user's code raises
            failure = failure or error
            refused = f"{type(error).__name__}: {error}"
        started = (os_threads() or 0) - before
        if values:
            started = _started[values] = max(started, _started.get(values, 0))
        loaded[values] = Tried(refused, started)
    if failure is not None and all(each.refused for each in loaded.values()):
        raise failure
    return loaded


def refusals(
    path: str,
    workload: type[Workload],
    loops: list[str],
    loaded: Loaded,
    isolation: Isolation | None,
    threads: int = 0,
) -> list[dict[str, Any]]:
    """List the models and loops that a workload cannot run under, and with which parameters.

    `isolation` is a sub-interpreter to try it in; None if this Python has none. `threads` is how
    many the import of its module has started.
    """
    here = {values: each.refused for values, each in loaded.items()}
    isolated = here
    isolated_loops: dict[str, str | None] = {}
    if isolation and not _all_refused(workload, loops, loaded):
        isolated_loops = isolation.loops
        isolated = {values: isolation.refuses_workload(path, dict(values)) for values in loaded}
    found = []
    for model in MODELS:
        tried = isolated if model == "interpreters" else here
        if model in FORKING:
            tried = {values: _before_a_fork(values, loaded, threads) for values in loaded}
        for loop in loops:
            of_loop = isolated_loops.get(loop) if model == "interpreters" else None
            answers = {
                values: reason_against(build(workload, dict(values)), model, loop) or of_loop or why
                for values, why in tried.items()
            }
            place = {"model": model, "loop": loop}
            of_each, of_two = _by_parameters(workload, answers), _of_two(workload, answers, place)
            for reason, parameters in (*of_each, *of_two):
                found.append({**place, "reason": reason, "parameters": parameters})
    return found


def _of_two(
    workload: type[Workload], answers: dict[Values, str | None], place: dict[str, str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each reason against a pair of choices that neither of them nor the defaults have."""
    for one, other in combinations(answers, 2):
        both = dict(one + other)
        if len(both) < 2:  # the defaults, or choices of the same parameter
            continue
        reason = reason_against(build(workload, both), **place)
        if reason and reason not in (answers.get(()), answers[one], answers[other]):
            yield reason, both


def _before_a_fork(values: Values, loaded: Loaded, of_module: int) -> str | None:
    """The reason that it cannot be forked with these values, or None."""
    started = of_module + sum(loaded[each].threads for each in {(), values})
    return loaded[values].refused or (too_many_threads(started) if started > 0 else None)


def _all_refused(workload: type[Workload], loops: list[str], loaded: Loaded) -> bool:
    """Return True if the workload itself refuses sub-interpreters with every choice."""
    return all(
        reason_against(build(workload, dict(values)), "interpreters", loop)
        for values in loaded
        for loop in loops
    )


def uneven(workload: type[Workload]) -> list[dict[str, Any]]:
    """List why work in flight cannot be divided evenly, and with which parameters."""
    answers = {
        values: build(workload, dict(values)).uneven() for values in ((), *_other_choices(workload))
    }
    found = _by_parameters(workload, answers)
    return [{"reason": reason, "parameters": parameters} for reason, parameters in found]


def _choices(workload: type[Workload]) -> list[Values]:
    if workload.load is Workload.load and workload.refuses is Workload.refuses:
        return [()]
    return [(), *_other_choices(workload)]


def _other_choices(workload: type[Workload]) -> list[Values]:
    return [
        ((name, choice),)
        for name, facts in parameters_of(workload).items()
        for choice in facts["choices"] or ()
        if choice != facts["default"]
    ]


def _by_parameters(
    workload: type[Workload], loaded: dict[Values, str | None]
) -> list[tuple[str, dict[str, Any]]]:
    """Each reason with the values that it applies to; no values if it applies to all."""
    refused = {values: reason for values, reason in loaded.items() if reason is not None}
    of_defaults = refused.pop((), None)
    if of_defaults is None:
        return [(reason, dict(values)) for values, reason in refused.items()]
    relevant = {name for values, reason in loaded.items() if reason is None for name, _ in values}
    if not relevant:
        return [(of_defaults, {})]
    described = parameters_of(workload)
    found = [(of_defaults, {name: described[name]["default"]}) for name in sorted(relevant)]
    found += [
        (reason, dict(values)) for values, reason in refused.items() if values[0][0] in relevant
    ]
    return found


# -------------------------------------------------------------------------------------- description

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
        return {"path": path, "summary": "", "refused": _failure(path, error)}


def _failure(path: str, error: BaseException) -> str:
    """The error of a workload that cannot be loaded, and advice on an import of a user's."""
    words = f"{type(error).__name__}: {error}"
    missing = missing_package(error)
    if not missing or path.startswith("workers."):
        return words
    if path.partition(":")[0].partition(".")[0] == missing:
        return f"{words}. Name the folder that it is in with --path"
    return f"{words}. Install what it is part of with --with"
