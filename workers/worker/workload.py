"""What a workload is: a dataclass of parameters with traffic to run on one event loop.

A workload needs `run`; `setup` and `teardown` are there for connections and servers. Every
worker has an instance of its own, so state on `self` is shared with nobody, and stays until
`teardown`: memory is read before.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args, get_origin, get_type_hints

from workers.loops.registry import known_loop
from workers.worker.handle import Worker

PARAMETER_TYPES = (bool, int, float, str)
# How a library is called in a sentence.
LIBRARIES = {"asyncio": "asyncio's loops", "trio": "trio", "anyio": "anyio"}


class ParameterError(ValueError):
    """A parameter that the workload does not have, or a value that it cannot take."""


def parameter[T](default: T, summary: str, *, at_least: float | None = None) -> T:
    """Declare a parameter: its default is what the study uses, `summary` what it means.

    `at_least` is the smallest number that makes sense.
    """
    metadata = {"summary": summary, "at_least": at_least}
    field: T = dataclasses.field(default=default, metadata=metadata)
    return field


@dataclass
class Workload:
    """Base of every workload.

    `operation` names what is counted, in the plural ("round trips"). `in_flight` names the
    parameter that says how much work a worker has in flight: sizing deals it out. `descriptors` are
    the open files that each unit of it holds in the worker's process: what exceeds the system's
    limit is refused in the plan. `services` names the helpers that the driver starts beside the
    child ("site"). `libraries` are those whose loops it runs on: "asyncio", "trio", "anyio".

    A `finite` workload does a stated number of operations and is done, the others go on until they
    are stopped. `scaled` names the int parameters that say how much a finite one does, and `whole`
    the one that what belongs together is as large as: more is done rather than a part. One that
    `makes_loops` has `work` instead of `run`, and neither `setup` nor `teardown`: it is called
    where no loop runs, and is finite.
    """

    operation: ClassVar[str] = "operations"
    in_flight: ClassVar[str | None] = None
    descriptors: ClassVar[int] = 0
    services: ClassVar[tuple[str, ...]] = ()
    libraries: ClassVar[tuple[str, ...]] = ("asyncio",)
    finite: ClassVar[bool] = False
    scaled: ClassVar[tuple[str, ...]] = ()
    whole: ClassVar[str | None] = None
    makes_loops: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        """Check that what makes loops is finite: no loop of ours runs that could stop it."""
        if cls.makes_loops and not cls.finite:
            raise TypeError(f"{cls.__name__}: a workload that makes loops is finite")

    def refuses(self, model: str, loop: str) -> str | None:
        """Say why it cannot run under `model` on `loop` with its parameters; None where it can.

        What its `libraries` leave out is refused whatever this says. A class method will do where
        no parameter counts.
        """
        del model
        return _foreign(type(self), loop)

    def uneven(self) -> str | None:
        """Say why work in flight cannot be dealt out evenly with its parameters; None if it can.

        It is what strong sizing takes.
        """
        return None

    def load(self) -> None:
        """Import what these parameters need; called once, before any loop exists."""

    def facts(self) -> dict[str, str]:
        """Tell what is really in use (a parser, say); goes into the record."""
        return {}

    async def setup(self, worker: Worker) -> None:
        """Build what the traffic needs, inside the worker: payload, connections, sessions."""

    async def run(self, worker: Worker) -> None:
        """Run traffic until `worker.running` is false, counting `worker.operations`.

        A finite workload does what it has to do, and returns.
        """
        raise NotImplementedError(f"{type(self).__name__} has no run()")

    def work(self, worker: Worker) -> None:
        """Do all of the work where no loop runs; only of a workload that `makes_loops`."""
        raise NotImplementedError(f"{type(self).__name__} has no work()")

    async def teardown(self, worker: Worker) -> None:
        """Close everything that `setup` opened; called whatever happened."""


def reason_against(workload: Workload, model: str, loop: str) -> str | None:
    """Why a workload cannot run under `model` on `loop`, by its libraries or its own word.

    Raises:
        UnknownLoopError: no such loop.
    """
    return _foreign(type(workload), loop) or workload.refuses(model, loop)


def _foreign(workload: type[Workload], loop: str) -> str | None:
    if known_loop(loop).library in workload.libraries:
        return None
    return f"runs on {' and '.join(LIBRARIES[each] for each in workload.libraries)} only"


def parameters_of(workload: type[Workload]) -> dict[str, dict[str, Any]]:
    """List a workload's parameters: type, default, choices, least value and meaning of each.

    Raises:
        ParameterError: a field's type is not bool, int, float, str or a Literal of strings, or what
            `scaled`, `whole` or `in_flight` names is no int among them.
    """
    hints = get_type_hints(workload)
    described = {}
    for field in dataclasses.fields(workload):
        if not field.init:
            continue
        hint = hints[field.name]
        choices = list(get_args(hint)) if get_origin(hint) is Literal else None
        kind = str if choices else hint
        if kind not in PARAMETER_TYPES or field.default is dataclasses.MISSING:
            raise ParameterError(
                f"{workload.__name__}.{field.name}: a parameter is a bool, int, float, str or "
                f"Literal of strings with a default"
            )
        described[field.name] = {
            "type": kind.__name__,
            "default": field.default,
            "choices": choices,
            "at_least": field.metadata.get("at_least"),
            "summary": field.metadata.get("summary", ""),
        }
    for name in (*workload.scaled, *filter(None, [workload.whole, workload.in_flight])):
        if described.get(name, {}).get("type") != "int":
            raise ParameterError(f"{workload.__name__}: {name!r} is no int parameter of its own")
    return described


def build(workload: type[Workload], values: dict[str, Any]) -> Workload:
    """Make an instance with these parameters, defaults for the rest.

    Raises:
        ParameterError: an unknown parameter, a wrong type, or a value out of range.
    """
    known = parameters_of(workload)
    for name, value in values.items():
        if name not in known:
            raise ParameterError(
                f"{workload.__name__} has no parameter {name!r}; it has: {', '.join(known)}"
            )
        _check(workload.__name__, name, value, known[name])
    return workload(**values)


def _check(owner: str, name: str, value: object, expected: dict[str, Any]) -> None:
    kind = expected["type"]
    fits = type(value).__name__ == kind or (kind == "float" and type(value) is int)
    if not fits:
        raise ParameterError(f"{owner}.{name}: expected {kind}, got {value!r}")
    if expected["choices"] and value not in expected["choices"]:
        raise ParameterError(
            f"{owner}.{name}: expected one of {', '.join(expected['choices'])}, got {value!r}"
        )
    least = expected["at_least"]
    if least is not None and isinstance(value, int | float) and value < least:
        raise ParameterError(f"{owner}.{name}: expected at least {least:g}, got {value!r}")
