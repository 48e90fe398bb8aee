"""An arm ready to be measured: which program is started, how, and what can run on it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from scaling.builds.arms import Arm
from scaling.builds.cache import Say
from scaling.builds.cpython import Build
from scaling.builds.runtimes.runtime import (
    OWN_LOOP,
    RUNTIMES,
    AbsentRuntimeError,
    Runtime,
    environment,
    find,
)
from scaling.journal.record import Description, Offer, PythonFacts, Refusal, WorkloadFacts

WHERE = {"threads": "in one process", "processes": "each in a process of its own"}

PYTHONS_ALONE: dict[str, dict[str, tuple[Collection[str], str]]] = {
    "spawn": {
        "factory": (("go",), "a goroutine starts when the scheduler runs it, never at once"),
    },
    "echo": {
        "api": (RUNTIMES, "other runtimes have no APIs of asyncio"),
        "tls": (RUNTIMES, "TLS is not implemented for other runtimes"),
    },
}
"""Parameters, by workload, of which the runtimes listed have the default alone, and why."""


@dataclass(frozen=True)
class PreparedArm:
    """An arm ready to be measured: the interpreter of its environment, and what can run there.

    A runtime other than Python has its own `program` and `arguments`; `runtime` is its version.
    `origin` is where the build came from.
    """

    arm: Arm
    program: str
    environment: Mapping[str, str]
    description: Description
    origin: str
    arguments: tuple[str, ...] = ("-m", "workers")
    runtime: str | None = None

    @property
    def is_python(self) -> bool:
        """Whether it is a build of CPython."""
        return isinstance(self.arm.build, Build)

    @property
    def is_there(self) -> bool:
        """Whether anything can run on it: a runtime may not be installed."""
        return self.is_python or self.runtime is not None


def prepare_runtime(arm: Arm, like: Description, say: Say) -> PreparedArm:
    """Prepare the arm of a runtime; if it is missing, every cell of it is refused with the reason.

    `like` describes a Python's environment: workloads and their parameters are the same.
    """
    assert isinstance(arm.build, Runtime)
    found = reason = None
    try:
        found = find(arm.build, say)
    except AbsentRuntimeError as error:
        reason = str(error)
        say(f"{arm.name} is left out: {reason}")
    version = found.version if found else None
    return PreparedArm(
        arm=arm,
        program=found.command[0] if found else "",
        arguments=found.command[1:] if found else (),
        environment=environment(),
        description=_description(arm.build, like, version, reason),
        origin=f"PATH, program {found.source}" if found else "absent",
        runtime=version,
    )


def _description(
    runtime: Runtime, like: Description, version: str | None, reason: str | None
) -> Description:
    name = runtime.name
    elsewhere = f"{name} is not Python: it schedules tasks with its own loop, {OWN_LOOP!r}"
    where = " or ".join(WHERE[model] for model in runtime.models)
    workloads = {each: _facts(runtime, each, facts) for each, facts in like.workloads.items()}
    return Description(
        schema=like.schema,
        python=PythonFacts(version=version or "", free_threaded=True),
        loops={each: Offer(refused=elsewhere) for each in like.loops}
        | {OWN_LOOP: Offer(version=version, refused=reason)},
        models={
            each: Offer(
                refused=None if each in runtime.models else f"{name} runs its N workers {where}"
            )
            for each in like.models
        },
        workloads=workloads,
    )


def _facts(runtime: Runtime, workload: str, python: WorkloadFacts) -> WorkloadFacts:
    if not runtime.implements(workload):
        return replace(python, refused=f"it is not implemented for {runtime.name}")
    refusals = [
        Refusal(model=model, loop=OWN_LOOP, reason=reason, parameters={name: choice})
        for model in runtime.models
        for name, (runtimes, reason) in PYTHONS_ALONE.get(workload, {}).items()
        if runtime.name in runtimes
        for choice in python.parameters[name].choices or ()
        if choice != python.parameters[name].default
    ]
    return replace(python, refused=None, refusals=refusals)
