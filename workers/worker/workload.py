"""A workload: its parameters, its traffic on one event loop, and how it is found by name.

A workload needs `run`; `setup` and `teardown` are for connections and servers. Every worker has
its own instance, so nothing on `self` is shared. Keep state there until `teardown`: memory is read
before it.

Every file in `workers/workloads` is a built-in workload. `my_load.py` holds the class `MyLoad` and
is called "my-load": to add a workload, add its file. Your own, from elsewhere, is named
`package.module:Name`.
"""

import dataclasses
import importlib
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args, get_origin, get_type_hints

from workers.cell import Cell
from workers.loops import known_loop
from workers.worker.handle import Worker

PARAMETER_TYPES = (bool, int, float, str)
# Names of the libraries in messages.
LIBRARIES = {"asyncio": "asyncio's loops", "trio": "trio", "anyio": "anyio"}


# After a stop `echo` is at 0.97 of its rate within 5 ms, and at 0.99 after 20 ms.
SETTLE_S = 0.02


class ParameterError(ValueError):
    """The workload has no such parameter, or does not accept the value."""


@dataclass(frozen=True)
class Holds:
    """The memory of a workload: as many objects as the parameter `count` says.

    An object takes at most the bytes that `bytes_each` has for the value of the parameter `by`.
    Workers in threads share one copy, unless a parameter has the value that `own_copies` names.
    With the one that `in_service` names all workers share one, which a service has.
    """

    what: str
    count: str
    by: str
    bytes_each: dict[str, int]
    own_copies: dict[str, str]
    in_service: dict[str, str] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True)
class Rounds:
    """The division of finite work into rounds: whole parts of it, one after the other.

    The parameter `amount` is how much work there is, and `part` how much of it one part is, which
    is not divided. Parts have no timers unless the parameter `delay` is above 0.
    """

    amount: str
    part: str
    delay: str


def parameter[T](
    default: T, summary: str, *, at_least: float | None = None, at_most: float | None = None
) -> T:
    """Declare a parameter: its default value, what it means (with its unit), its bounds.

    A default of 0 may be outside them: it turns off what the parameter is about.
    """
    metadata = {"summary": summary, "at_least": at_least, "at_most": at_most}
    field: T = dataclasses.field(default=default, metadata=metadata)
    return field


@dataclass
class Workload:
    """Base of every workload.

    `operation` is what is counted, in the plural ("round trips"). `in_flight` is the name of the
    parameter that sets how much work each worker has in flight; sizing divides the total evenly.
    `descriptors` is how many open files one unit of it needs in the worker's process; the plan
    refuses what exceeds the system's limit. `services` are what the driver starts beside the child
    ("site"). `libraries` are those whose loops it runs on: "asyncio", "trio", "anyio".

    A `finite` workload does a stated number of operations; others run until they are stopped.
    A `served` one answers requests that a load generator outside sends it: its server takes
    connections from `worker.inbound`, and its traffic is to wait until it is stopped. `sent` is
    what they are called, in the plural, since the rate at which they are due is theirs.
    `scaled` are the int parameters that set how much a finite one does: a study can reduce them.
    `whole` is the parameter that is the size of one indivisible part: reduced or not, whole parts
    are done, at least one. A workload that `makes_loops` is finite and has `work` instead of
    `run`, `setup` and `teardown`; it is called where no loop runs.

    `alone` is why runs are not stopped between slices of their window, in turn with others: what
    goes on meanwhile, such as timers. None declares that nothing does. After a stop it takes
    `settle_s` until operations have their usual rate again. A served workload is not stopped: its
    load pauses.

    A finite workload takes turns by rounds, which `rounds` declares: `run` is called for each,
    with a smaller amount, and the rounds together do what one call would do. The work is the
    same then, in the same order. Work that is all under way at once (`spawn`) has no parts. Done
    several times it would not be the same: the memory is there from the first time on, and the
    later ones are 10 to 25 % faster.

    `holds` declares memory that is large enough for the plan to look at. `divided` are two
    parameters: a total, of which each worker needs one at least, and the override for each worker
    (0: not set).
    """

    operation: ClassVar[str] = "operations"
    sent: ClassVar[str] = "requests"
    in_flight: ClassVar[str | None] = None
    descriptors: ClassVar[int] = 0
    services: ClassVar[tuple[str, ...]] = ()
    libraries: ClassVar[tuple[str, ...]] = ("asyncio",)
    finite: ClassVar[bool] = False
    served: ClassVar[bool] = False
    scaled: ClassVar[tuple[str, ...]] = ()
    whole: ClassVar[str | None] = None
    makes_loops: ClassVar[bool] = False
    alone: ClassVar[str | None] = "it does not declare that it can be stopped (`alone = None`)"
    settle_s: ClassVar[float] = SETTLE_S
    rounds: ClassVar[Rounds | None] = None
    holds: ClassVar[Holds | None] = None
    divided: ClassVar[tuple[str, str] | None] = None

    def __post_init__(self) -> None:
        """Set attributes that are no parameters; call it in your own, so that every base does."""

    def __init_subclass__(cls) -> None:
        """Check that a workload that makes loops is finite: no loop of ours runs to stop it."""
        if cls.makes_loops and not cls.finite:
            raise TypeError(f"{cls.__name__}: a workload that makes loops is finite")
        if cls.served and cls.finite:
            raise TypeError(f"{cls.__name__}: a served workload ends with the window")

    def refuses(self, model: str, loop: str) -> str | None:
        """Return the reason against `model` and `loop` with these parameters; None if it can run.

        A mixed model is `mixed` or `mixed-forked`: only some of its workers share an interpreter.

        Loops of libraries not in `libraries` are refused in any case. Make it a class method if no
        parameter matters.
        """
        return None

    def uneven(self) -> str | None:
        """Return the reason against an even division of work in flight among workers, or None.

        Strong sizing needs that.
        """
        return None

    def client_scheme(self) -> str:
        """The protocol of a served workload's clients: `http`, or `tcp` (a length, a body)."""
        return "http"

    def client_requests(self) -> list[dict[str, Any]]:
        """The requests of a served workload's clients (`workers.services.load.request`)."""
        return [{}]

    def placed(self, cell: Cell, index: int | None) -> None:
        """Note where it will be loaded: by worker `index`, or (None) once for all of a process."""

    def load(self) -> None:
        """Import what these parameters need; called once, before any loop exists."""

    def facts(self) -> dict[str, str]:
        """Facts for the record, as they are really in use (the parser, say)."""
        return {}

    async def setup(self, worker: Worker) -> None:
        """Create what the traffic needs, inside the worker: payload, connections, sessions."""

    async def run(self, worker: Worker) -> None:
        """Run traffic until `worker.running` is false, counting `worker.operations`.

        A finite workload does all its operations and returns.
        """
        raise NotImplementedError(f"{type(self).__name__} has no run()")

    def work(self, worker: Worker) -> None:
        """Do all the work, with no loop running; only for a workload that `makes_loops`."""
        raise NotImplementedError(f"{type(self).__name__} has no work()")

    async def teardown(self, worker: Worker) -> None:
        """Close everything that `setup` opened; always called, even after an error."""


def reason_against(workload: Workload, model: str, loop: str) -> str | None:
    """Return the reason against a workload under `model` on `loop`, or None.

    Raises:
        UnknownLoopError: no such loop.
    """
    if known_loop(loop).library not in workload.libraries:
        return f"runs only on {' and '.join(LIBRARIES[each] for each in workload.libraries)}"
    return workload.refuses(model, loop)


def reason_alone(workload: type[Workload]) -> str | None:
    """Return the reason that this workload cannot be paused for alternation, or None."""
    if workload.finite and workload.rounds is None:
        return workload.alone or "it does not declare parts of its work (`rounds`)"
    return workload.alone


_known: dict[type[Workload], dict[str, dict[str, Any]]] = {}  # `--describe` asks for it often


def parameters_of(workload: type[Workload]) -> dict[str, dict[str, Any]]:
    """List a workload's parameters: type, default, choices, bounds and summary of each.

    Raises:
        ParameterError: a field's type is not bool, int, float, str or a Literal of strings, or
            `scaled`, `rounds`, `whole` or `in_flight` names something that is not an int
            parameter.
    """
    if workload in _known:
        return _known[workload]
    hints = get_type_hints(workload)
    described: dict[str, dict[str, Any]] = {}
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
            "at_most": field.metadata.get("at_most"),
            "summary": field.metadata.get("summary", ""),
        }
    parts = [workload.rounds.amount, workload.rounds.part] if workload.rounds else []
    amounts = filter(None, [workload.whole, workload.in_flight])
    for name in (*workload.scaled, *parts, *amounts):
        if described.get(name, {}).get("type") != "int":
            raise ParameterError(f"{workload.__name__}: {name!r} is not one of its int parameters")
    _known[workload] = described
    return described


def build(workload: type[Workload], values: dict[str, Any]) -> Workload:
    """Make an instance with these parameters, defaults for the rest.

    Raises:
        ParameterError: unknown parameter, wrong type, or a value out of range.
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
    is_off = value == 0 and expected["default"] == 0
    if is_off or not isinstance(value, int | float):
        return
    least, most = expected["at_least"], expected["at_most"]
    if least is not None and value < least:
        raise ParameterError(f"{owner}.{name}: expected at least {least:g}, got {value!r}")
    if most is not None and value > most:
        raise ParameterError(f"{owner}.{name}: expected at most {most:,}, got {value!r}")


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
    """The package to import anew for `package.module:Name` or the name of a built-in workload."""
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
    files = sorted(os.listdir(importlib.import_module(BUILT_IN).__path__[0]))
    stems = [file[:-3] for file in files if file.endswith(".py") and file != "__init__.py"]
    return {
        stem.replace("_", "-"): f"{BUILT_IN}.{stem}:{stem.title().replace('_', '')}"
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
