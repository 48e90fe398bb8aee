"""An arm prepared for measuring: the program that is started, and a description of what can run.

A Python's environment describes itself (`python -m workers --describe`); the answer is cached.
"""

import hashlib
import os
import platform
import re
import subprocess
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

import msgspec
from msgspec.structs import replace

from scaling.base.errors import ScalingError
from scaling.base.files import whole
from scaling.builds.arms import SCRUBBED_PREFIXES, Arm
from scaling.builds.cache import Say, folder
from scaling.builds.cpython import Build
from scaling.builds.runtimes import (
    OWN_LOOP,
    RUNTIMES,
    AbsentRuntimeError,
    Runtime,
    environment,
    find,
)
from scaling.journal.record import (
    Description,
    Offer,
    PythonFacts,
    Refusal,
    WorkloadFacts,
    decode_description,
)


@dataclass(frozen=True)
class PreparedArm:
    """An arm prepared for measuring: `program` is the Python of its environment.

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
        """True for a build of CPython."""
        return isinstance(self.arm.build, Build)

    @property
    def is_there(self) -> bool:
        """True if the interpreter or runtime is installed: a runtime may be missing."""
        return self.is_python or self.runtime is not None


def child_environment(arm: Arm, search_path: Iterable[str]) -> dict[str, str]:
    """Environment variables of an arm's children, which import from `search_path` only."""
    return arm.child_environment(os.environ) | {
        "PYTHONPATH": os.pathsep.join(search_path),
        "PYTHONSAFEPATH": "1",  # the current folder is not searched
    }


# ----------------------------------------------------------------------------------------- describe

DESCRIBE_LIMIT_S = 120.0
# Variables that can change the answer: those that an arm sets, search paths, home, locale, TLS. The
# others are not passed on, so that each shell gets the cached answer.
ASKED_WITH = (
    *SCRUBBED_PREFIXES,
    *("PATH", "LD_", "DYLD_", "HOME", "TMPDIR", "LANG", "LC_", "OPENSSL_", "SSL_"),
)


def describe(
    python: str, environment: Mapping[str, str], workloads: Sequence[str] = ()
) -> Description:
    """The description of a child environment; `workloads` are a user's own.

    Raises:
        ScalingError: the child fails, or its answer is no description.
    """
    return _decoded(python, _ask(python, tuple(environment.items()), tuple(workloads)))


def described(python: str, environment: Mapping[str, str], source: str) -> Description:
    """The description of an environment of ours, from the cache: to ask takes a second or two.

    The environment is asked again if its `ASKED_WITH` variables, the system or `source` (the digest
    of the code that answers) have changed. An environment with a user's own code must be asked each
    time, by `describe`.

    Raises:
        ScalingError: as by `describe`.
    """
    system = (platform.release(), platform.version(), *platform.libc_ver())
    key = hashlib.sha256(repr((source, system)).encode()).hexdigest().encode()
    asked = tuple(sorted(each for each in environment.items() if each[0].startswith(ASKED_WITH)))
    name = hashlib.sha256(repr((python, asked)).encode()).hexdigest()[:16]
    kept = folder() / "descriptions" / f"{name}.json"
    with suppress(OSError, msgspec.DecodeError):  # not there yet, or incomplete
        of, _, answer = kept.read_bytes().partition(b"\n")
        if of == key:
            return decode_description(answer)
    answer = _ask(python, asked, ())
    description = _decoded(python, answer)
    with suppress(OSError):  # the cache cannot be written
        kept.parent.mkdir(parents=True, exist_ok=True)
        with whole(kept) as file:
            file.write_bytes(key + b"\n" + answer)
    return description


@cache
def _ask(python: str, variables: tuple[tuple[str, str], ...], workloads: tuple[str, ...]) -> bytes:
    """The answer of an environment, asked once in this process."""
    flags = [word for name in workloads for word in ("--workload", name)]
    try:
        return subprocess.run(
            [python, "-m", "workers", "--describe", *flags],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=dict(variables),
            timeout=DESCRIBE_LIMIT_S,
            check=True,
        ).stdout
    except subprocess.CalledProcessError as error:
        last = error.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise ScalingError(_no_description(python, last)) from None
    except (subprocess.TimeoutExpired, OSError) as error:
        raise ScalingError(_no_description(python, str(error))) from None


def _decoded(python: str, answer: bytes) -> Description:
    try:
        return decode_description(answer)
    except msgspec.DecodeError as error:
        raise ScalingError(_no_description(python, str(error))) from None


def _no_description(python: str, why: str) -> str:
    return (
        f"{why}\nSo the environment of {python} cannot list what runs in it. If one of your "
        f"requirements or folders is at fault, correct it; else delete the environment and run the "
        f"same command again"
    )


# --------------------------------------------------------------------------------- missing packages
# Reasons that name the package that an environment lacks.
#
# A child only sees that an import fails; the reason (no wheel for this build) is known where its
# environment is made.

MISSING_MODULE = re.compile(r"No module named '([^'.]+)")


def explained(description: Description, left_out: Mapping[str, str]) -> Description:
    """The description with the real reason for each missing package.

    `left_out` has a reason for each package, by name.
    """
    reasons = {_module(name): reason for name, reason in left_out.items()}

    def of(reason: str | None) -> str | None:
        found = MISSING_MODULE.search(reason or "")
        return reasons.get(found[1], reason) if found else reason

    return replace(
        description,
        loops={
            name: replace(loop, refused=of(loop.refused))
            for name, loop in description.loops.items()
        },
        workloads={
            name: replace(
                facts,
                refused=of(facts.refused),
                refusals=[replace(each, reason=of(each.reason)) for each in facts.refusals],
            )
            for name, facts in description.workloads.items()
        },
    )


def _module(package: str) -> str:
    return package.replace("-", "_").lower()


# ----------------------------------------------------------------------------------- other runtimes

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
"""Parameters, by workload, of which these runtimes have the default only, with the reason."""


def prepare_runtime(arm: Arm, like: Description, say: Say) -> PreparedArm:
    """Prepare the arm of a runtime; if the runtime is missing, all its cells are refused.

    `like` describes a Python's environment, which has the same workloads and parameters.
    """
    assert isinstance(arm.build, Runtime)
    version: str | None = None
    reason: str | None = None
    command: tuple[str, ...] = ("",)
    origin = "absent"
    try:
        version, command, digest = find(arm.build, say)
        origin = f"PATH, program {digest}"
    except AbsentRuntimeError as error:
        reason = str(error)
        say(f"{arm.name} is left out: {reason}")
    return PreparedArm(
        arm=arm,
        program=command[0],
        arguments=command[1:],
        environment=environment(),
        description=_description(arm.build, like, version, reason),
        origin=origin,
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
