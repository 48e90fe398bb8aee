"""Environments of children: pinned packages, a user's own requirements, and the package `workers`.

A child must be able to import what its workload needs and nothing else, so its environment has no
pip and no pandas. Each interpreter and group of pins has an environment, cached under the hash of
everything that it is made from.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from packaging.requirements import Requirement

from scaling.base.errors import ScalingError, UsageError
from scaling.builds import cache, uv_tool
from scaling.builds.cache import Say
from scaling.builds.cpython import BUILDS, Interpreter, marker_variables
from scaling.builds.uv_tool import Uv

PINS = Path(__file__).parent / "pins"

OF_CHILDREN = ("child", "tls", "serve", "stack", "cache", "broadcast", "loops")
"""Groups of pins for children. `child` is in all of them, `loops` has everything.

A package without a wheel is left out; the plan then refuses cells that need it, by name.
"""

# Every package has a hash, and a missing wheel is an error: results must not depend on the local
# compiler.
PINNED = ("--require-hashes", "--no-build")

FACTS = "environment.json"  # in the folder of an environment


class NoWheelError(ScalingError):
    """A package has no wheel for this interpreter."""


class Own(Protocol):
    """A user's own requirements, installed after the pinned ones and without hashes."""

    def made_from(self, version: str) -> Iterable[object]:
        """Everything that decides which packages are installed for Python `version`, for a key."""

    def install(self, uv: Uv, command: Sequence[str], interpreter: Interpreter, say: Say) -> None:
        """Install them with uv's `command`.

        Raises:
            UsageError: something cannot be read or installed.
        """


def ensure(
    interpreter: Interpreter,
    *,
    group: str = "child",
    own: Own | None = None,
    say: Say,
    uv: Uv = uv_tool.run,
) -> Path:
    """The Python of the environment of `interpreter` with the pins of `group`; made if missing.

    Raises:
        NoWheelError: a package has no wheel for this interpreter (groups outside `OF_CHILDREN`).
        UsageError: a user's own requirements cannot be installed.
        ScalingError: the packages cannot be downloaded.
    """
    pins = pins_file(group)
    key = _key(interpreter, pins, own)
    destination = cache.folder() / "environments" / f"{interpreter.build}-{group}-{key}"

    def fill(temporary: Path) -> Path:
        say(f"making the environment {group!r} for CPython {interpreter.build} (once)")
        folder = temporary / "environment"
        python = make_empty(interpreter, folder, uv)
        install = ["pip", "install", "--python", str(python), "--compile-bytecode"]
        lacks = _install_pins(uv, install, pins, interpreter.build, temporary)
        for reason in lacks.values():
            say(f"  left out: {reason}")
        lacks |= _too_new_for(interpreter, pins.read_text(encoding="utf-8"))
        if own:
            own.install(uv, install, interpreter, say)
        # Versions up to 1.0 share this cache, and look for packages.
        text = json.dumps({"packages": {}, "left_out": lacks})
        (folder / FACTS).write_text(text, encoding="utf-8")
        return folder

    def whole(folder: Path) -> bool:  # its interpreter may have been removed
        return python_of(folder).exists()

    cache.make_whole(destination, fill, say=say, whole=whole)
    return python_of(destination)


def left_out(python: Path) -> dict[str, str]:
    """Reasons, by name, of pinned packages that the environment of this Python lacks."""
    facts = json.loads((python.parents[1] / FACTS).read_text(encoding="utf-8"))
    return dict(facts["left_out"])


def ensure_any(interpreters: Iterable[Interpreter], *, group: str, say: Say) -> Path | None:
    """The Python of the first environment that has wheels for all of `group`, or None."""
    for interpreter in interpreters:
        try:
            return ensure(interpreter, group=group, say=say)
        except NoWheelError as reason:
            say(f"  {reason}")
    return None


def pins_file(group: str) -> Path:
    """The compiled requirements of `group`, such as `child`, `tests` or `notebooks`."""
    path = PINS / f"{group}.txt"
    if not path.is_file():
        raise UsageError(f"there are no pins for {group!r}. There are: {', '.join(groups())}.")
    return path


def groups() -> list[str]:
    """The groups that have pins."""
    return sorted(path.stem for path in PINS.glob("*.txt"))


def pins_sha256(group: str = "child") -> str:
    """The digest of the pinned versions of `group`, for a journal."""
    return hashlib.sha256(pins_file(group).read_bytes()).hexdigest()


def _install_pins(
    uv: Uv, install: Sequence[str], pins: Path, build: str, temporary: Path
) -> dict[str, str]:
    """Install the packages of `pins` that have a wheel; return reasons for the others, by name."""
    together = uv([*install, *PINNED, "-r", str(pins)])
    if together.returncode == 0:
        return {}
    missing = uv_tool.without_wheel(together)
    if not missing:
        uv_tool.must(together, f"the packages of {pins.stem!r}")
    if pins.stem not in OF_CHILDREN:
        raise NoWheelError(f"{missing} has no wheel for CPython {build}")
    # uv names one package at a time, so each is tried alone. Dependencies can be ignored, since the
    # pins contain them.
    kept, left_out = [], {}
    alone = temporary / "alone.txt"
    for name, requirement in _requirements(pins.read_text(encoding="utf-8")):
        alone.write_text(requirement, encoding="utf-8")
        answer = uv([*install, *PINNED, "--no-deps", "--dry-run", "-r", str(alone)])
        if answer.returncode == 0:
            kept.append(requirement)
        elif uv_tool.without_wheel(answer):
            left_out[name] = f"no wheel of {name} for {build}"
        else:
            uv_tool.must(answer, name)
    if not left_out:  # each package alone can be installed, so the reason is another one
        uv_tool.must(together, f"the packages of {pins.stem!r}")
    if kept:
        alone.write_text("".join(kept), encoding="utf-8")
        uv_tool.must(uv([*install, *PINNED, "--no-deps", "-r", str(alone)]), "the packages")
    return left_out


def _requirements(text: str) -> Iterator[tuple[str, str]]:
    """Name and whole text, hashes and marker included, of each requirement in a pins file."""
    for block in re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE):
        if name := re.match(r"[A-Za-z0-9._-]+", block):
            yield name[0], block


def _too_new_for(interpreter: Interpreter, text: str) -> dict[str, str]:
    """The packages in `text` that are for a newer Python, by their markers."""
    found = {}
    for name, requirement in _requirements(text):
        marker = Requirement(requirement.partition("\\")[0]).marker
        if marker and not marker.evaluate(marker_variables(interpreter.version)):
            newest = f"{BUILDS[-1].version}.0"
            if marker.evaluate(marker_variables(newest)):
                found[name] = f"{name} needs a newer Python than {interpreter.build}"
    return found


def _key(interpreter: Interpreter, pins: Path, own: Own | None) -> str:
    of_own = list(own.made_from(interpreter.version)) if own else [[]]
    made_from = [interpreter.identity, pins.read_text(encoding="utf-8"), *of_own]
    return hashlib.sha256(json.dumps(made_from).encode()).hexdigest()[:16]


def make_empty(interpreter: Interpreter, folder: Path, uv: Uv = uv_tool.run) -> Path:
    """Make a virtual environment with nothing in it; return its interpreter.

    Raises:
        ScalingError: uv cannot make it.
    """
    base = ["venv", "--no-project", "--relocatable", "--python", str(interpreter.executable)]
    uv_tool.must(uv([*base, str(folder)]), f"a virtual environment of {interpreter.executable}")
    return python_of(folder)


def python_of(folder: Path) -> Path:
    """The interpreter of a virtual environment."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


# --------------------------------------------------------------------------------------- child path
# A folder from which a child can import `workers`, and nothing else of this project.
#
# The folder of `workers` also has `scaling` (and, when installed, all other packages), which a
# child must not be able to import. So its path has a folder with `workers` alone.

NO_CODE = ("__pycache__", "node_modules", "site-packages")
NOT_SOURCE = shutil.ignore_patterns("__pycache__")


def workers_folder() -> Path:
    """The folder of the package `workers`, found without importing it.

    Raises:
        ScalingError: the installation is incomplete.
    """
    beside = Path(__file__).parents[2] / "workers"
    if beside.is_dir():
        return beside
    found = importlib.util.find_spec("workers")
    if found is None or not found.submodule_search_locations:
        raise ScalingError(
            "the package 'workers' is missing, so the installation is incomplete. "
            "Install the project again: pip install . in its folder"
        )
    return Path(found.submodule_search_locations[0])


def own_environment() -> dict[str, str]:
    """The variables of a program of `workers` on this Python, wherever it is started: the current
    folder may have a package of that name, too.
    """
    return {"PYTHONPATH": str(workers_folder().parent), "PYTHONSAFEPATH": "1"}


@contextmanager
def workers_path(folder: Path | None = None) -> Iterator[Path]:
    """A folder for a child's PYTHONPATH that contains `workers` only.

    The folder stays in the cache, since a killed driver could not remove it.
    """
    source = (folder or workers_folder()).resolve()
    place = hashlib.sha256(str(source).encode()).hexdigest()[:16]
    kept = cache.folder() / "child-path" / place
    try:
        _link(kept / "workers", source)
    except OSError:  # Windows without the privilege to; a cache that cannot be written
        with tempfile.TemporaryDirectory(prefix="scaling-") as temporary:
            shutil.copytree(source, Path(temporary) / "workers", ignore=NOT_SOURCE)
            yield Path(temporary)
    else:
        yield kept


def _link(link: Path, source: Path) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):  # from before, or made by another process just now
        link.symlink_to(source, target_is_directory=True)


def workers_source_hash(folder: Path | None = None) -> str:
    """SHA-256 over the package `workers`: an edited `workers` makes another study."""
    return _sha256([(folder or workers_folder(), "")])


def own_source_hash(folders: Sequence[str]) -> str | None:
    """SHA-256 over the Python files in a user's own folders; None without any folder."""
    return _sha256([(Path(each), ".py") for each in folders]) if folders else None


def _sha256(sources: Iterable[tuple[Path, str]]) -> str:
    """SHA-256 over the names and contents of files in folders, each with an ending of names."""
    digest = hashlib.sha256()
    for root, ending in sources:
        for path in _files(root, ending):
            content = path.read_bytes()
            digest.update(f"{path.relative_to(root).as_posix()}\0{len(content)}\0".encode())
            digest.update(content)
    return digest.hexdigest()


def _files(root: Path, ending: str) -> Iterator[Path]:
    """The files below a folder, sorted, without environments and caches."""
    for folder, below, names in os.walk(root):
        below[:] = sorted(
            name for name in below if name not in NO_CODE and not name.startswith(".")
        )
        for name in sorted(names):
            path = Path(folder, name)
            if name.endswith(ending) and path.is_file():  # a link may point nowhere
                yield path
