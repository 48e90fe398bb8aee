"""What a workload cannot run under here, and why: found out by loading it, not by guessing.

What is loaded may depend on a parameter (a parser, say), so each of its choices is tried; what one
of them refuses is no reason against the others.
"""

import importlib
import sys
from collections.abc import Mapping
from typing import Any

from workers.models import MODELS
from workers.workload import Workload, build, parameters_of, reason_against

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
    isolated_loops: Mapping[str, str | None],
) -> list[dict[str, Any]]:
    """Every model and loop that a workload cannot run under, and with which parameters.

    `isolated_loops` tells which loops sub-interpreters refuse; empty where there are none.
    """
    isolated = loaded
    plain = build(workload, {})
    if isolated_loops and not all(reason_against(plain, "interpreters", loop) for loop in loops):
        codes = [
            f"from workers.naming import load_workload; from workers.workload import build; "
            f"build(load_workload({path!r}), {dict(values)!r}).load()"
            for values in loaded
        ]
        isolated = dict(zip(loaded, in_isolation(codes), strict=True))
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


def in_isolation(codes: list[str]) -> list[str | None]:
    """Really run each of `codes` in one sub-interpreter; why it refused, None if it did not."""
    if sys.version_info < (3, 14):
        return [None] * len(codes)
    interpreters = importlib.import_module("concurrent.interpreters")
    interpreter = interpreters.create()
    answers: list[str | None] = []
    try:
        interpreter.exec(f"import sys; sys.path[:] = {sys.path!r}")
        for code in codes:
            try:
                interpreter.exec(code)
                answers.append(None)
            except interpreters.ExecutionFailed as error:
                answers.append(f"refused by a sub-interpreter: {error.excinfo.msg}")
    finally:
        interpreter.close()
    return answers


def _choices(workload: type[Workload]) -> list[Values]:
    if workload.load is Workload.load and workload.refuses is Workload.refuses:
        return [()]
    others = [
        ((name, choice),)
        for name, facts in parameters_of(workload).items()
        for choice in facts["choices"] or ()
        if choice != facts["default"]
    ]
    return [(), *others]


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
