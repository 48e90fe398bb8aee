"""The interpreters on this machine: on PATH, in uv's store, in pyenv, built by us.

Nothing is downloaded, and no name is trusted: every candidate is run and asked what it is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from packaging.version import Version

from scaling.base.errors import ScalingError
from scaling.builds import cache, uv_tool
from scaling.builds.cpython import BUILDS, Build
from scaling.builds.interpreters.interpreter import Interpreter, inspect

ORIGINS = ("PATH", "uv", "pyenv", "built")
"""Of two interpreters of one version, the one whose origin comes first is used."""

EXECUTABLE = re.compile(r"python(3|3\.\d+t?)?(\.exe)?")


def built_folder() -> Path:
    """Where the interpreters that we build are kept."""
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
