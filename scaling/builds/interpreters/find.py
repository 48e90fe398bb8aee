"""The interpreters on this machine: on PATH, in uv's store, in pyenv, built by us.

Every candidate is run to get its facts, whatever its name. uv can download one into its store.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from packaging.version import InvalidVersion, Version

from scaling.base.errors import ScalingError
from scaling.builds import cache, uv_tool
from scaling.builds.cache import Say
from scaling.builds.cpython import BUILDS, Build, Interpreter, inspect
from scaling.builds.uv_tool import Uv

ORIGINS = ("PATH", "uv", "pyenv", "built")
"""Of two interpreters of one version, the one whose origin comes first is used."""

EXECUTABLE = re.compile(r"python(3|3\.\d+t?)?(\.exe)?")


def built_folder() -> Path:
    """The folder of the interpreters that we build."""
    return cache.folder() / "interpreters"


def survey(builds: Sequence[Build] = BUILDS) -> list[Interpreter]:
    """Every interpreter of `builds` on this machine, each once; the best of a build comes first."""
    asked: set[tuple[int, int]] = set()
    found: dict[tuple[int, int], Interpreter] = {}
    for origin, path in _candidates(builds):
        try:
            if (file := _identity(path)) in asked:
                continue
            asked.add(file)
            interpreter = inspect(path, origin=origin)
            found.setdefault(_identity(interpreter.executable), interpreter)
        except (OSError, ScalingError):
            continue  # a shim, a wrapper or a broken link
    names = [build.name for build in builds]
    kept = [interpreter for interpreter in found.values() if interpreter.build in names]
    return sorted(best_first(kept), key=lambda one: names.index(one.build))


def best_first(interpreters: Iterable[Interpreter]) -> list[Interpreter]:
    """The newest version first; of equal versions, in the order of `ORIGINS`."""
    by_origin = sorted(interpreters, key=lambda one: ORIGINS.index(one.origin))
    return sorted(by_origin, key=lambda one: version_key(one.version), reverse=True)


def version_key(version: str) -> Version:
    """`version` as something that sorts; the `+` of an unreleased checkout is ignored."""
    return Version(version.rstrip("+"))


def _candidates(builds: Sequence[Build]) -> Iterator[tuple[str, Path]]:
    """Executables that may be one of `builds`, with their origin."""
    minors = {build.version for build in builds}
    folders: list[tuple[str, Path]] = [
        (origin, folder / "bin")
        for origin, root in _stores()
        for folder in sorted(root.glob("*"))
        if any(re.search(rf"(^|-){re.escape(minor)}(\D|$)", folder.name) for minor in minors)
    ]
    folders += [("PATH", folder) for folder in _path_folders()]
    for origin, folder in folders:
        for path in sorted(folder.glob("python*"), reverse=True):  # python3.14t before python3.14
            named = re.search(r"3\.\d+", path.resolve().name)
            if EXECUTABLE.fullmatch(path.name) and (named is None or named[0] in minors):
                yield origin, path


def _stores() -> Iterator[tuple[str, Path]]:
    """Folders that hold one interpreter per sub-folder."""
    yield "built", built_folder()
    yield "pyenv", _pyenv_root() / "versions"
    try:
        answer = uv_tool.run(["python", "dir"])
    except ScalingError:
        return
    if answer.returncode == 0:
        yield "uv", Path(answer.stdout.strip())


def _identity(path: Path) -> tuple[int, int]:
    """The file behind a name: `python3.14` and `python3.14t` may be hard links to one binary."""
    status = path.stat()
    return status.st_dev, status.st_ino


def _path_folders() -> list[Path]:
    shims = _pyenv_root() / "shims"
    folders = [Path(entry) for entry in os.environ.get("PATH", "").split(os.pathsep) if entry]
    return [folder for folder in dict.fromkeys(folders) if folder != shims]


def _pyenv_root() -> Path:
    return Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")


# ----------------------------------------------------------------------------------------- download
# Interpreters that uv downloads into its own store (python-build-standalone: PGO and LTO).

# One attempt in place of three with growing pauses: behind a package mirror all would fail.
IMPATIENT = {"UV_HTTP_RETRIES": "0", "UV_HTTP_CONNECT_TIMEOUT": "5"}


def download(builds: Sequence[Build], *, say: Say, uv: Uv = uv_tool.run) -> None:
    """Let uv install `builds`, in the newest patch version that it offers for all of them.

    Raises:
        ScalingError: uv does not offer all of them, or they cannot be downloaded from here.
    """
    offered = {build: _offered(build, uv) for build in builds}
    for minor in {build.minor for build in builds}:
        of_minor = [build for build in builds if build.minor == minor]
        common = set.intersection(*(set(offered[build]) for build in of_minor))
        if not common:
            raise ScalingError(f"uv offers no 3.{minor} for {_names(of_minor)}")
        version = max(common, key=version_key)
        keys = [offered[build][version] for build in of_minor]
        say(f"asking uv for CPython {version} ({_names(of_minor)})")
        answer = uv(["python", "install", "--no-bin", "--no-progress", *keys], **IMPATIENT)
        if answer.returncode != 0:
            raise ScalingError(_why(answer.stderr))


def _offered(build: Build, uv: Uv) -> dict[str, str]:
    """Version → uv's key, of the downloads that uv offers for `build`."""
    # `3.14+gil` asks uv's own store strictly, but no download answers to it; `3.14` does.
    request = f"{build.version}+freethreaded" if build.free_threaded else build.version
    answer = uv(
        ["python", "list", "--only-downloads", "--all-versions", "--output-format=json", request]
    )
    try:
        entries = json.loads(answer.stdout or "[]")
    except ValueError:
        entries = []
    variant = "freethreaded" if build.free_threaded else "default"
    return {
        entry["version"]: entry["key"]
        for entry in entries
        if entry["implementation"] == "cpython" and entry["variant"] == variant
    }


def _why(stderr: str) -> str:
    """Reason uv failed, in a few words and without an address."""
    if "not allowed" in stderr:
        return "uv is configured not to download interpreters"
    if "offline" in stderr.lower() or "network" in stderr.lower():
        return "uv is configured to work offline"
    if "Failed to download" in stderr or "request" in stderr:
        return "uv cannot reach its download server from here"
    return "uv could not install it"


def _names(builds: Sequence[Build]) -> str:
    return ", ".join(build.name for build in builds)


# ------------------------------------------------------------------------------------------ crashes
# Free-threaded builds that are known to crash with several event loops.
#
# On 3.14 before 3.14.7, threads that make, cancel and close loops may crash while the collector
# runs in another thread. Nobody has checked 3.13, which is treated the same.

SOUND_SINCE = "3.14.7"
ISSUE = "cpython#153809"


def may_crash(version: str, *, free_threaded: bool) -> bool:
    """Return True if a build of `version`, such as `3.14.6`, is one of those."""
    try:
        return free_threaded and version_key(version) < version_key(SOUND_SINCE)
    except InvalidVersion:
        return False
