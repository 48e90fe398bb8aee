"""Which models and loops a workload cannot run under here, and why: it is loaded to find out."""

import importlib
import sys
from collections.abc import Iterable, Iterator
from itertools import combinations
from types import TracebackType
from typing import Any, NamedTuple, Self

from workers.host.models import MODELS, too_many_threads
from workers.readback.process import os_threads
from workers.worker.workload import Workload, build, parameters_of, reason_against

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
                code = f"from workers.loops.registry import import_loop; import_loop({name!r})"
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
        """Why a workload cannot be loaded there with these parameters; None if it can."""
        return self._refuses(
            "from workers.worker.registry import load_workload; "
            "from workers.worker.workload import build; "
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
    """Why a workload cannot be loaded, None if it can; and how many threads that has started.

    What was loaded before starts no thread again, so those of the defaults count for every choice.
    """

    refused: str | None
    threads: int = 0


type Loaded = dict[Values, Tried]

# How many threads a choice has started: what one workload has loaded (NumPy for `kind=frame`, say)
# starts none for another one with the same choice.
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
        if model == "forked":
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
    """Each reason against two choices that is against neither by itself, nor the defaults."""
    for one, other in combinations(answers, 2):
        both = dict(one + other)
        if len(both) < 2:  # the defaults, or choices of the same parameter
            continue
        reason = reason_against(build(workload, both), **place)
        if reason and reason not in (answers.get(()), answers[one], answers[other]):
            yield reason, both


def _before_a_fork(values: Values, loaded: Loaded, of_module: int) -> str | None:
    """Why it cannot be forked with these values."""
    started = of_module + sum(loaded[each].threads for each in {(), values})
    return loaded[values].refused or (too_many_threads(started) if started > 0 else None)


def _all_refused(workload: type[Workload], loops: list[str], loaded: Loaded) -> bool:
    """Whether the workload itself refuses sub-interpreters with every choice."""
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
