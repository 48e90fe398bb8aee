"""What a workload cannot run under here, and why: found out by loading it, not by guessing.

What is loaded may depend on a parameter (a parser, say), so each of its choices is tried; what one
of them refuses is no reason against the others.
"""

from typing import Any

from workers.host.models import MODELS
from workers.readback.isolation import Isolation
from workers.worker.workload import Workload, build, parameters_of, reason_against

type Values = tuple[tuple[str, Any], ...]  # of parameters; () are the defaults
type Loaded = dict[Values, str | None]  # why it could not be loaded with these values


def load_choices(workload: type[Workload]) -> Loaded:
    """Load a workload with its defaults, and with each other choice that it may heed.

    Raises:
        Exception: whatever its default raised, where nothing else could be loaded either.
    """
    loaded: Loaded = {}
    failure: BaseException | None = None
    for values in _choices(workload):
        try:
            build(workload, dict(values)).load()
            loaded[values] = None
        except (Exception, SystemExit) as error:  # whatever a user's code raises
            failure = failure or error
            loaded[values] = f"{type(error).__name__}: {error}"
    if failure is not None and None not in loaded.values():
        raise failure
    return loaded


def refusals(
    path: str,
    workload: type[Workload],
    loops: list[str],
    loaded: Loaded,
    isolation: Isolation | None,
) -> list[dict[str, Any]]:
    """Every model and loop that a workload cannot run under, and with which parameters.

    `isolation` is a sub-interpreter to try it in; None where there are none.
    """
    isolated = loaded
    isolated_loops: dict[str, str | None] = {}
    if isolation and not _all_refused(workload, loops, loaded):
        isolated_loops = isolation.loops
        isolated = {values: isolation.refuses_workload(path, dict(values)) for values in loaded}
    found = []
    for model in MODELS:
        tried = isolated if model == "interpreters" else loaded
        for loop in loops:
            of_loop = isolated_loops.get(loop) if model == "interpreters" else None
            answers = {
                values: reason_against(build(workload, dict(values)), model, loop) or of_loop or why
                for values, why in tried.items()
            }
            for reason, parameters in _by_parameters(workload, answers):
                place = {"model": model, "loop": loop}
                found.append({**place, "reason": reason, "parameters": parameters})
    return found


def _all_refused(workload: type[Workload], loops: list[str], loaded: Loaded) -> bool:
    """Whether it says itself, of every choice, that no sub-interpreter will do."""
    return all(
        reason_against(build(workload, dict(values)), "interpreters", loop)
        for values in loaded
        for loop in loops
    )


def uneven(workload: type[Workload]) -> list[dict[str, Any]]:
    """Why its work in flight cannot be dealt out evenly, and with which parameters."""
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


def _by_parameters(workload: type[Workload], loaded: Loaded) -> list[tuple[str, dict[str, Any]]]:
    """Each reason with the values that it holds for; no values where it holds for all."""
    refused = {values: reason for values, reason in loaded.items() if reason is not None}
    of_defaults = refused.pop((), None)
    if of_defaults is None:
        return [(reason, dict(values)) for values, reason in refused.items()]
    heeded = {name for values, reason in loaded.items() if reason is None for name, _ in values}
    if not heeded:
        return [(of_defaults, {})]
    described = parameters_of(workload)
    found = [(of_defaults, {name: described[name]["default"]}) for name in sorted(heeded)]
    found += [
        (reason, dict(values)) for values, reason in refused.items() if values[0][0] in heeded
    ]
    return found
