"""The compiler and the C libraries that building CPython needs, and how to get what is missing.

CPython builds without OpenSSL or zlib too, and reports it in one of hundreds of lines; a study of
TLS would fail later. So we compile a test for each library first.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scaling.base.errors import ScalingError
from scaling.builds.cache import Say


@dataclass(frozen=True)
class Need:
    """Something that the build needs, and its package in each package manager."""

    name: str
    header: str | None
    """A header that must compile; None: a program called `name`."""
    apt: str
    dnf: str
    brew: str


NEEDS = (
    Need("make", None, "make", "make", "make"),
    Need("C compiler", "stdlib.h", "gcc libc6-dev", "gcc glibc-devel", "gcc"),
    Need("OpenSSL", "openssl/ssl.h", "libssl-dev", "openssl-devel", "openssl@3"),
    Need("zlib", "zlib.h", "zlib1g-dev", "zlib-devel", "zlib"),
    Need("libffi", "ffi.h", "libffi-dev", "libffi-devel", "libffi"),
    Need("SQLite", "sqlite3.h", "libsqlite3-dev", "sqlite-devel", "sqlite"),
    Need("bzip2", "bzlib.h", "libbz2-dev", "bzip2-devel", "bzip2"),
    Need("lzma", "lzma.h", "liblzma-dev", "xz-devel", "xz"),
)

INSTALLERS = {
    "apt": "apt-get update && {sudo}apt-get install --yes --no-install-recommends {packages}",
    "dnf": "dnf install --assumeyes {packages}",
    "brew": "brew install {packages}",
}


def is_there(need: Need) -> bool:
    """Whether `need` can be used here: its program runs, or its header compiles."""
    if need.header is None:
        return shutil.which(need.name) is not None
    compiler = os.environ.get("CC") or next(filter(shutil.which, ("cc", "gcc", "clang")), None)
    if compiler is None:
        return False
    return (
        subprocess.run(
            [*compiler.split(), "-E", "-x", "c", "-"],
            input=f"#include <stddef.h>\n#include <stdio.h>\n#include <{need.header}>\n",
            capture_output=True,
            text=True,
            check=False,
        ).returncode
        == 0
    )


def require(
    *,
    say: Say,
    probe: Callable[[Need], bool] = is_there,
    manager: str | None = None,
    may_install: bool | None = None,
    shell: Callable[[str], int] | None = None,
) -> None:
    """Return once everything that the build needs is installed.

    What is missing is installed if we are root and either `SCALING_YES=1` is set or this is a CI
    machine; otherwise the error has the one command that installs it.

    Raises:
        ScalingError: something is missing.
    """
    missing = [need for need in NEEDS if not probe(need)]
    if not missing:
        return
    names = ", ".join(need.name for need in missing)
    command = install_command(missing, manager or _manager())
    if command is None:
        raise ScalingError(
            f"building CPython needs {names}, missing on this machine. "
            "Install them (with their headers) and run the same command again."
        )
    if may_change_machine() if may_install is None else may_install:
        say(f"building CPython needs {names}: installing")
        if (shell or _shell)(command) == 0 and all(map(probe, missing)):
            return
        raise ScalingError(f"building CPython needs {names}; this did not install it: {command}")
    raise ScalingError(
        f"building CPython needs {names}, missing on this machine. Install with:\n    {command}"
    )


def install_command(missing: Sequence[Need], manager: str | None) -> str | None:
    """The command that installs `missing` with `manager` (`apt`, `dnf`, `brew`; None: unknown)."""
    if manager is None:
        return None
    packages = " ".join({"apt": n.apt, "dnf": n.dnf, "brew": n.brew}[manager] for n in missing)
    sudo = "" if manager == "brew" or _is_root() else "sudo "
    return sudo + INSTALLERS[manager].format(sudo=sudo, packages=packages)


def may_change_machine() -> bool:
    """Whether we may install packages: as root, with `SCALING_YES=1` or on a CI machine."""
    return _is_root() and (os.environ.get("SCALING_YES") == "1" or bool(os.environ.get("CI")))


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _manager() -> str | None:
    programs = {"apt": "apt-get", "dnf": "dnf", "brew": "brew"}
    return next((name for name, program in programs.items() if shutil.which(program)), None)


def _shell(command: str) -> int:
    return subprocess.run(
        ["/bin/sh", "-c", command], stdin=subprocess.DEVNULL, capture_output=True, check=False
    ).returncode
