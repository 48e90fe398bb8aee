"""CPython: the builds that can be studied, and the facts of an interpreter.

A build is named by its minor version, with a `t` if it is free-threaded: `3.14`, `3.14t`. The
binary of an interpreter reports its facts itself, whatever its name or folder.
"""

from __future__ import annotations

import json
import shlex
import subprocess
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from scaling.base.errors import ScalingError, unknown

VERSIONS = ("3.12", "3.13", "3.13t", "3.14", "3.14t", "3.15", "3.15t")
"""The builds that an arm may name, the oldest first; each has a nox session of its own."""


@dataclass(frozen=True, order=True)
class Build:
    """A kind of CPython binary: a minor version, with or without the GIL."""

    minor: int
    free_threaded: bool

    @property
    def version(self) -> str:
        """`3.14`, whether free-threaded or not."""
        return f"3.{self.minor}"

    @property
    def name(self) -> str:
        """`3.14` or `3.14t`."""
        return f"{self.version}{'t' if self.free_threaded else ''}"


BUILDS = tuple(Build(int(name[2:].rstrip("t")), name.endswith("t")) for name in VERSIONS)


def parse_build(name: str) -> Build:
    """The build called `name`.

    Raises:
        UsageError: there is no such build; the message lists all builds.
    """
    known = {build.name: build for build in BUILDS}
    if name not in known:
        raise unknown("build", name, known)
    return known[name]


# -------------------------------------------------------------------------------------- interpreter

# `_base_executable` is the interpreter behind a virtual environment. A missing module of the
# standard library means that its C library was missing when the interpreter was built.
QUESTION = """
import importlib.util, json, platform, sys, sysconfig
ask = sysconfig.get_config_var
needed = ["_bz2", "_ctypes", "_lzma", "_sqlite3", "_ssl", "zlib"]
print(json.dumps({
    "implementation": sys.implementation.name,
    "version": platform.python_version(),
    "minor": list(sys.version_info[:2]),
    "free_threaded": bool(ask("Py_GIL_DISABLED")),
    "debug": bool(ask("Py_DEBUG")),
    "executable": getattr(sys, "_base_executable", None) or sys.executable,
    "config_args": ask("CONFIG_ARGS") or "",
    "compiler": platform.python_compiler(),
    "missing": [name for name in needed if importlib.util.find_spec(name) is None],
}))
"""
ANSWER_WITHIN_S = 20


@dataclass(frozen=True)
class Interpreter:
    """One CPython binary on this machine."""

    build: str
    """`3.14t`"""
    version: str
    """`3.14.7`"""
    free_threaded: bool
    executable: Path
    """Absolute, links followed: the binary itself."""
    origin: str
    """The finder of the interpreter: `PATH`, `uv`, `pyenv` or `built` (by us)."""
    config_args: tuple[str, ...] = ()
    """Arguments of its `configure`, without those that contain a path."""
    pgo: bool = False
    lto: bool = False
    compiler: str = ""
    missing: tuple[str, ...] = ()
    """Modules of the standard library that it was built without."""
    debug: bool = False
    """Built with `--with-pydebug`: good for finding faults, useless for timing."""

    @property
    def identity(self) -> dict[str, str]:
        """All facts but the origin: one binary has one environment, wherever it was found."""
        return {name: str(value) for name, value in asdict(replace(self, origin="")).items()}

    @property
    def flags(self) -> str:
        """The optimisation of its build: `-O3`, `PGO` or `PGO+LTO`."""
        made = [name for name, used in (("PGO", self.pgo), ("LTO", self.lto)) if used]
        return "+".join(made) or "-O3"

    def comparable_with(self, other: Interpreter) -> bool:
        """Return True if two interpreters differ only in the GIL, as far as known."""
        mine = (self.version, self.origin, self.pgo, self.lto, self.compiler, self.debug)
        return mine == (
            other.version, other.origin, other.pgo, other.lto, other.compiler, other.debug,
        )  # fmt: skip


def inspect(executable: Path | str, *, origin: str = "PATH") -> Interpreter:
    """Run the binary `executable` to get its facts.

    Raises:
        ScalingError: it does not run, or is not CPython.
    """
    command = [str(executable), "-I", "-c", QUESTION]
    try:
        answer = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=ANSWER_WITHIN_S,
            check=True,
        ).stdout
        facts = json.loads(answer)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise ScalingError(f"{executable} does not run as Python: {_why(error)}") from error
    if facts["implementation"] != "cpython":
        raise ScalingError(f"{executable} is {facts['implementation']}, not CPython")
    arguments = shlex.split(facts["config_args"])
    major, minor = facts["minor"]
    return Interpreter(
        build=f"{major}.{minor}{'t' if facts['free_threaded'] else ''}",
        version=facts["version"],
        free_threaded=facts["free_threaded"],
        executable=Path(facts["executable"]).resolve(),
        origin=origin,
        config_args=tuple(argument for argument in arguments if "/" not in argument),
        pgo="--enable-optimizations" in arguments,
        lto=any(argument.startswith("--with-lto") for argument in arguments),
        compiler=facts["compiler"],
        missing=tuple(facts["missing"]),
        debug=facts["debug"],
    )


def _why(error: OSError | subprocess.SubprocessError | ValueError) -> str:
    """Reason for an error, without the program that was run."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    if isinstance(error, subprocess.TimeoutExpired):
        return f"no answer within {ANSWER_WITHIN_S:.0f} s"
    if isinstance(error, subprocess.CalledProcessError):
        return f"it ends with exit code {error.returncode}"
    return "its answer is not that of Python"


def marker_variables(version: str) -> dict[str, str]:
    """Variables of environment markers for a Python `version`, such as `3.14.7`."""
    minor = ".".join(version.split(".")[:2])
    return {"python_version": minor, "python_full_version": version.rstrip("+")}
