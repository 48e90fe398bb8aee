"""What tests need and no Python package brings, programs and what a machine does: one entry each.

A test that needs one is marked: `@pytest.mark.needs("nginx")`. Where the program is not installed,
or may not do its work, the test is skipped; with SCALING_REQUIRE_PROGRAMS=1 it fails.
"""

import asyncio
import os
import pwd
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import pytest

from scaling.builds import installed
from scaling.builds.interpreters.source import NEEDS
from scaling.builds.interpreters.source import is_there as can_be_compiled
from scaling.builds.runtimes import RUNTIMES, AbsentRuntimeError, find
from scaling.builds.settings import SETTINGS
from scaling.run.process_tree import CANNOT_STOP
from workers.services.native import NO_NAMESPACE, NativeError, done, own_folder

REQUIRE = "SCALING_REQUIRE_PROGRAMS"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def on_path(*names: str) -> bool:
    return any(map(shutil.which, names))


def serves(name: str) -> bool:
    return installed.program(name) is not None


def can_be_loaded(setting: str) -> bool:
    return installed.library(SETTINGS[setting].preload) is not None


def runs(runtime: str) -> str:
    """Why the runtime's program does not run, or cannot be compiled."""
    try:
        find(RUNTIMES[runtime], lambda _line: None)
    except AbsentRuntimeError as error:
        return str(error)
    return ""


def as_somebody() -> str:
    """Why a server that refuses to run as root, or as a user without a name, cannot run here."""
    try:
        pwd.getpwuid(os.geteuid())
    except KeyError:
        return f"user {os.geteuid()} has no name: run the tests as a user of this machine"
    with own_folder() as folder:
        try:
            asyncio.run(done(["true"], folder))
        except NativeError:
            return f"a server {NO_NAMESPACE}"
    return ""


def one_cpu() -> str:
    """Why two programs cannot have a CPU each."""
    return "there is one CPU" if len(os.sched_getaffinity(0)) == 1 else ""


@dataclass(frozen=True)
class Program:
    """What tests need, with the packages that bring it: of Debian 12, or of npm.

    Without packages, Debian has none that is new enough, or a Python package brings it. `forbidden`
    says why it does not do its work here, and what permits it; empty: it does.
    """

    packages: str
    is_there: Callable[[], bool] = lambda: True
    forbidden: Callable[[], str] = lambda: ""
    npm: str = ""

    @property
    def can_be_required(self) -> bool:
        return bool(self.packages or self.npm) or self.is_there()

    @property
    def source(self) -> str:
        """Where it can be had."""
        if self.npm:
            return f"npm's package {self.npm}"
        return f"package {self.packages}" if self.packages else "Debian has none"


(COMPILER,) = (each for each in NEEDS if each.name == "C compiler")
PROGRAMS = {
    "bun": Program("", partial(on_path, "bun"), partial(runs, "bun"), npm="bun"),
    "cc": Program(COMPILER.apt, partial(can_be_compiled, COMPILER)),
    "chromium": Program("chromium", partial(on_path, *BROWSERS)),
    "go": Program("", partial(on_path, "go"), partial(runs, "go")),  # Debian 12 has 1.19
    "jemalloc": Program("libjemalloc2", partial(can_be_loaded, "jemalloc")),
    "nginx": Program("nginx", partial(serves, "nginx"), as_somebody),
    "node": Program("nodejs npm", partial(on_path, "node"), partial(runs, "node")),
    "pgbouncer": Program("pgbouncer", partial(serves, "pgbouncer"), as_somebody),
    "servers": Program("", forbidden=as_somebody),  # PostgreSQL, which a wheel brings, and others
    "tcmalloc": Program("libtcmalloc-minimal4", partial(can_be_loaded, "tcmalloc")),
}
MACHINE = {
    "git": Program("git", partial(on_path, "git")),
    "stops": Program("", forbidden=lambda: CANNOT_STOP),
    "two-cpus": Program("", forbidden=one_cpu),
}
"""What every machine for tests should have. A test that needs nothing else sees a machine with
every program, as a test without a mark does."""
KNOWN = PROGRAMS | MACHINE


@cache
def why_not(name: str) -> str:
    """Why a test cannot have the program; empty if it can."""
    program = KNOWN[name]
    if program.is_there():
        return program.forbidden()
    return f"not installed ({program.source})"


def require(item: pytest.Item) -> None:
    """Skip or fail a test that needs a program which it cannot have."""
    names = [name for mark in item.iter_markers("needs") for name in mark.args]
    missing = [name for name in names if why_not(name)]
    if not missing:
        return
    said = "needs " + "; ".join(f"{name}: {why_not(name)}" for name in missing)
    if os.environ.get(REQUIRE) == "1" and any(KNOWN[name].can_be_required for name in missing):
        pytest.fail(said, pytrace=False)
    pytest.skip(said)
