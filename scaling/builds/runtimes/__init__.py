"""Runtimes other than Python that run the same program: Go, Node and Bun, for `spawn` and `echo`.

A runtime is an arm of a study like any build. Its program (a folder in `programs/`, with a file for
each workload) reads a cell and prints a record as `python -m workers` does. So its runs are in the
same blocks and journal, and get the same intervals. The plan lists runtimes that are not on PATH,
and leaves them out. Factor, of which factor-2025 also has figures, is in none of the package
registries.
"""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scaling.base.errors import ScalingError
from scaling.builds import cache
from scaling.builds.cache import Say

# -------------------------------------------------------------------------------------------- known
# The runtimes that have a program, by the names that a study uses for them.

OWN_LOOP = "own"
"""The loop of such an arm: the scheduler of the runtime."""

PROGRAMS = Path(__file__).parent / "programs"


@dataclass(frozen=True, slots=True)
class Runtime:
    """A runtime other than Python; its program reports `loop_class` as its loop.

    The program is a folder with a file for each workload, named after it. It runs workers of these
    `models`. With the arguments `ask_version` the runtime prints its version.
    """

    name: str
    loop_class: str
    language: str
    suffix: str
    models: tuple[str, ...] = ("threads",)
    ask_version: tuple[str, ...] = ("--version",)

    @property
    def folder(self) -> Path:
        """The folder of its program."""
        return PROGRAMS / self.language

    def implements(self, workload: str) -> bool:
        """Return True if the runtime has a program for the workload."""
        return (self.folder / f"{workload}{self.suffix}").is_file()


RUNTIMES = {
    each.name: each
    for each in (
        Runtime(
            name="go",
            loop_class="goroutines",
            language="go",
            suffix=".go",
            models=("threads", "processes"),
            ask_version=("env", "GOVERSION"),
        ),
        Runtime("node", "node", "javascript", ".mjs"),
        Runtime("bun", "bun", "javascript", ".mjs"),
    )
}
"""Arms that are not Python, by name."""


# --------------------------------------------------------------------------------------------- find

LIMIT_S = 600.0  # Go compiles its standard library at its first build

# Variables that tune a runtime would change an arm behind its name.
SCRUBBED = ("GOMAXPROCS", "GOGC", "GOMEMLIMIT", "GODEBUG", "GOEXPERIMENT", "NODE_", "BUN_")


class AbsentRuntimeError(ScalingError):
    """A runtime that is not on this machine, or does not work."""


def find(runtime: Runtime, say: Say) -> tuple[str, tuple[str, ...], str]:
    """The runtime on PATH: its version, the command that starts its program, the digest of the
    program's files.

    Raises:
        AbsentRuntimeError: it is not on PATH, does not report its version, or does not compile.
    """
    name = runtime.name
    executable = shutil.which(name)
    if executable is None:
        raise AbsentRuntimeError(f"{name} is not on PATH")
    version = _answer([executable, *runtime.ask_version], f"{name} does not report its version")
    digest = _digest(runtime)
    if name == "go":
        command: tuple[str, ...] = (str(_compiled(executable, version, runtime, digest, say)),)
    else:
        command = (executable, str(runtime.folder / f"main{runtime.suffix}"))
    return version, command, digest


def environment() -> dict[str, str]:
    """The variables that a runtime's program gets: none that would tune the runtime."""
    return {name: value for name, value in os.environ.items() if not name.startswith(SCRUBBED)}


def _digest(runtime: Runtime) -> str:
    files = sorted(runtime.folder.glob(f"*{runtime.suffix}"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


def _compiled(go: str, version: str, runtime: Runtime, digest: str, say: Say) -> Path:
    destination = cache.folder() / "runtimes" / f"{version}-{digest}"

    def fill(temporary: Path) -> Path:
        say(f"compiling the program of {runtime.name} with {version} (once, up to a minute)")
        made = temporary / "workers"
        build = ["build", "-C", str(runtime.folder), "-buildvcs=false", "-o", str(made), "."]
        _answer([go, *build], f"the program of {runtime.name} does not compile")
        return made

    cache.make_whole(destination, fill, say=say)
    return destination


def _answer(command: Sequence[str], failing: str) -> str:
    """The output of a command. Raises `AbsentRuntimeError` with `failing` and the last line."""
    local = {"GOTOOLCHAIN": "local", "GO111MODULE": "off"}  # nothing is downloaded
    try:
        done = subprocess.run(
            command,
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LIMIT_S,
            env={**environment(), **local},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise AbsentRuntimeError(f"{failing}: {error}") from None
    if done.returncode != 0:
        last = done.stderr.strip().rpartition("\n")[2]
        raise AbsentRuntimeError(f"{failing}: {last or f'exit code {done.returncode}'}")
    return done.stdout.strip()
