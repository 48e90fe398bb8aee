"""The source, the compiler and the C libraries for a build of CPython.

The source is a verified tarball. It comes from a file or folder that the user names
(`SCALING_CPYTHON_SOURCE`), from upstream, or from the Debian mirror of this machine's apt (whose
source archive is upstream's tarball under another name), in this order. The address of the mirror
comes from apt and is never written down.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from scaling.base.errors import ScalingError, UsageError
from scaling.builds import cache
from scaling.builds.cache import Say

SHA256 = {
    "3.13.5": "93e583f243454e6e9e4588ca2c2662206ad961659863277afcdb96801647d640",
    "3.14.7": "3b48dac8fb59f62eaa67ac83c1eb12bda1b7a08406dd286e252c11a66be27f81",
    "3.15.0rc2": "8d93af5eaaaea5adfd41bd786a7ba3f03f2ad1ab57c6a65e0b963deab91d5ad7",
}
"""The versions that can be built: for each minor version the newest patch that was tried."""

UPSTREAM = "https://www.python.org/ftp/python/{release}/{name}"
DEBIAN = "{site}/pool/main/p/python{minor}/python{minor}_{version}.orig.tar.xz"
APT_HELPER = "/usr/lib/apt/apt-helper"
STALLED_AFTER_S = 10
PRE_RELEASE = re.compile(r"(?<=\d)(a|b|rc)(?=\d)")
"""The `rc` of `3.15.0rc2`: upstream has it in the release's folder, Debian as `3.15.0~rc2`."""

Fetch = Callable[[str, Path, Say], "str | None"]
"""Downloads a version to a path; returns None, or in a few words why it failed."""


def version_for(minor: str) -> str | None:
    """The patch version of a minor version such as `3.14` that can be built, or None."""
    return next((version for version in SHA256 if version.rpartition(".")[0] == minor), None)


def file_name(version: str) -> str:
    """Upstream's name of the source of `version`."""
    return f"Python-{version}.tar.xz"


def tarball(version: str, *, say: Say, providers: Sequence[Fetch] | None = None) -> Path:
    """The verified tarball of `version`, downloaded at most once.

    Raises:
        UsageError: `SCALING_CPYTHON_SOURCE` names no file, or another one.
        ScalingError: it cannot be downloaded, or its digest is not the pinned one.
    """
    if given := _given(version):
        return given
    kept = cache.folder() / "sources" / file_name(version)
    if kept.exists() and sha256(kept) != SHA256[version]:
        kept.unlink()  # damaged on disk

    def download(temporary: Path) -> Path:
        path = temporary / kept.name
        reasons = []
        for fetch in providers or (from_upstream, from_debian):
            reason = fetch(version, path, say)
            if reason is None and sha256(path) == SHA256[version]:
                return path
            reasons.append(reason or "the download is not the release: its SHA-256 differs")
        raise ScalingError(
            f"the source of CPython {version} cannot be downloaded: {'; '.join(reasons)}. "
            "Download it elsewhere and set SCALING_CPYTHON_SOURCE to the file, or to its folder."
        )

    cache.make_whole(kept, download, say=say)
    return kept


def from_upstream(version: str, path: Path, say: Say) -> str | None:
    """Download from python.org."""
    from urllib import error, request  # which take longer to import than all else here

    release = PRE_RELEASE.split(version)[0]
    address = UPSTREAM.format(release=release, name=file_name(version))
    try:
        with request.urlopen(address, timeout=STALLED_AFTER_S) as answer:
            say(f"downloading the source of CPython {version} (22 to 34 MiB) from python.org")
            with path.open("wb") as file:
                shutil.copyfileobj(answer, file)
    except error.HTTPError as refused:
        return f"python.org answers {refused.code}"
    except (OSError, error.URLError):
        return "python.org cannot be reached"
    return None


def from_debian(version: str, path: Path, say: Say) -> str | None:
    """Download from the mirror that apt uses, with apt's own downloader."""
    if not (shutil.which("apt-get") and Path(APT_HELPER).exists()):
        return "there is no apt on this machine"
    sites = apt_sites()
    if not sites and may_change_machine():
        _run(["apt-get", "update"])
        sites = apt_sites()
    if not sites:
        return "apt knows no mirror yet (run: apt-get update)"
    minor = version.rpartition(".")[0]
    tagged = PRE_RELEASE.sub(r"~\1", version)
    for site in sites:
        address = DEBIAN.format(site=site, minor=minor, version=tagged)
        say(f"downloading the source of CPython {version} (22 to 34 MiB) from the Debian mirror")
        if _run([APT_HELPER, "download-file", address, str(path), f"SHA256:{SHA256[version]}"]):
            return None
    return "the mirror that apt uses does not have it"


def apt_sites() -> list[str]:
    """The sites of this machine's apt, each once; none before the first `apt-get update`."""
    answer = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(SITE)"],
        capture_output=True,
        text=True,
        check=False,
    )
    return list(dict.fromkeys(answer.stdout.split()))


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _given(version: str) -> Path | None:
    """The user's own tarball of `version`; None if there is none.

    A file is the source of one version: those of the others come from elsewhere.
    """
    named = os.environ.get("SCALING_CPYTHON_SOURCE")
    if not named:
        return None
    path = Path(named).expanduser()
    if is_folder := path.is_dir():
        path /= file_name(version)
        if not path.exists():
            return None
    if not path.is_file():
        raise UsageError(f"SCALING_CPYTHON_SOURCE names {path}, which is not a file.")
    if (digest := sha256(path)) == SHA256[version]:
        return path
    if digest in SHA256.values() and not is_folder:
        return None
    raise UsageError(
        f"SCALING_CPYTHON_SOURCE names {path}, which is not the release of CPython {version}: "
        f"its SHA-256 is not {SHA256[version][:12]}…"
    )


def _run(command: Sequence[str]) -> bool:
    answer = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return answer.returncode == 0


# ---------------------------------------------------------------------------------------- libraries
# The compiler and the C libraries, and how to get what is missing.
#
# CPython builds without OpenSSL or zlib too, and reports it in one of hundreds of lines; a study of
# TLS would fail later. So we compile a test for each library first.


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
    """Return True if `need` can be used here: its program runs, or its header compiles."""
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


def require_libraries(
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
    """Return True if we may install packages: as root, with `SCALING_YES=1` or on a CI machine."""
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
