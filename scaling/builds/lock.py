"""A lock file (PEP 751, or of uv) read for one interpreter.

A package that the file has from the index in use is installed by name and version. A package from
elsewhere (a repository, a folder, an archive, another index) is installed as written, so that no
package of the same name can take its place.
"""

import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import tomli_w
from packaging.pylock import Package, Pylock, PylockValidationError, is_valid_pylock_path

from scaling.base.errors import UsageError
from scaling.base.formats import listed
from scaling.builds import uv_tool
from scaling.builds.cpython import marker_variables

type Entry = Mapping[str, Any]
"""A package of a lock file, as TOML has it."""

UV_LOCK = "uv.lock"
PYPI = "pypi.org/simple"
FILES_OF_PYPI = "files.pythonhosted.org"
SOURCES = ("vcs", "directory", "archive", "sdist")  # keys of an entry that may have a `path`


@dataclass(frozen=True)
class Locked:
    """The packages of a lock file that one interpreter needs.

    `pins` are requirements (`name==version`) for the index in use. `written` are entries that are
    installed as written; their paths are absolute. `left_out` names the other packages.
    """

    pins: tuple[str, ...]
    written: tuple[Entry, ...]
    left_out: tuple[str, ...]


def is_lock(file: Path) -> bool:
    """Return True if a file of requirements is a lock file, by its name."""
    return is_valid_pylock_path(file) or file.name.endswith(".lock")


def read_lock(file: Path, version: str) -> Locked:
    """The packages of a lock file for Python `version`, such as `3.14.7`, with default groups.

    Raises:
        UsageError: the file cannot be read, or is the lock file of another tool.
    """
    if file.name.endswith(".lock") and file.name != UV_LOCK:
        raise UsageError(
            f"{file}: a lock file of another tool: export it as requirements.txt or pylock.toml"
        )
    with TemporaryDirectory(prefix="scaling-lock-") as temporary:
        readable = _exported(file, Path(temporary)) if file.name == UV_LOCK else file
        try:
            document = tomllib.loads(readable.read_text(encoding="utf-8"))
            lock = Pylock.from_dict(document)
        except (ValueError, OSError, PylockValidationError) as error:
            raise UsageError(f"{file}: not a lock file ({error})") from None
        found = _of_interpreter(lock, document["packages"], version, file, readable.parent)
    optional = _of_uv(file) if file.name == UV_LOCK else _of_lock(lock)
    said = (f"{file.name}: left out: {each}" for each in (*optional, *found.left_out))
    return replace(found, left_out=tuple(said))


def text_of(entries: Iterable[Entry]) -> str:
    """The text of a lock file with these packages, for uv."""
    kept = [{key: value for key, value in each.items() if key != "marker"} for each in entries]
    return tomli_w.dumps({"lock-version": "1.0", "created-by": "scaling", "packages": kept})


def _exported(file: Path, folder: Path) -> Path:
    """Export a lock file of uv as `pylock.toml`; return that file."""
    made = folder / "pylock.toml"
    options = ["--frozen", "--no-dev", "--format", "pylock.toml", "--quiet", "-o", str(made)]
    answer = uv_tool.run(["export", "--project", str(file.absolute().parent), *options])
    if answer.returncode:
        raise UsageError(f"{file}: cannot be read: {uv_tool.reason(answer)}")
    return made


def _of_interpreter(
    lock: Pylock, entries: Iterable[Entry], version: str, file: Path, base: Path
) -> Locked:
    """The packages that the interpreter needs. Paths of the entries are relative to `base`."""
    variables: dict[str, str | AbstractSet[str]] = {**marker_variables(version)}
    variables["dependency_groups"] = frozenset(lock.default_groups or ())
    indexes = {PYPI, *map(_plain, uv_tool.indexes())}
    pins: list[str] = []
    written: list[Entry] = []
    left_out: list[str] = []
    for package, entry in zip(lock.packages, entries, strict=True):
        if package.marker and not package.marker.evaluate(variables, context="lock_file"):
            continue
        if package.directory and _holds(base / package.directory.path, file):
            left_out.append(f"{package.name}, the project itself")
        elif _is_of_index(package, indexes):
            pins.append(f"{package.name}=={package.version}")
        else:
            written.append(_absolute(entry, base))
    return Locked(tuple(pins), tuple(written), tuple(left_out))


def _of_lock(lock: Pylock) -> Iterator[str]:
    """Optional packages of a lock file: extras, and groups other than the default."""
    default = lock.default_groups or ()
    yield from _optional(lock.dependency_groups or (), default, lock.extras or ())


def _of_uv(file: Path) -> Iterator[str]:
    """Optional packages of uv's own file, which its export lacks; `dev` is optional, too."""
    project = file.with_name("pyproject.toml")
    settings = tomllib.loads(project.read_text(encoding="utf-8")) if project.is_file() else {}
    default = settings.get("tool", {}).get("uv", {}).get("default-groups", ())
    for package in tomllib.loads(file.read_text(encoding="utf-8")).get("package", ()):
        if "." in package.get("source", {}).values():
            groups, extras = map(package.get, ("dev-dependencies", "optional-dependencies"))
            kept = (groups or {}) if default == "all" else default
            yield from _optional(groups or (), set(kept) - {"dev"}, extras or ())


def _optional(
    groups: Iterable[str], default: Collection[str], extras: Iterable[str]
) -> Iterator[str]:
    """`the groups dev and docs`, `the extra tls`."""
    others = [each for each in groups if each not in default]
    for noun, names in (("group", others), ("extra", list(extras))):
        if names:
            yield f"the {noun}{'s' if len(names) > 1 else ''} {listed(names)}"


def _holds(folder: Path, file: Path) -> bool:
    """Return True if a folder is the project of this lock file."""
    return file.resolve().is_relative_to(folder.resolve())


def _is_of_index(package: Package, indexes: set[str]) -> bool:
    """Return True if a package comes from PyPI or an index that uv is set to."""
    files = [*(package.wheels or ()), *([package.sdist] if package.sdist else ())]
    if package.version is None or not files or any(each.path for each in files):
        return False
    if package.index:
        return _plain(package.index) in indexes
    return all(urlsplit(each.url or "").hostname == FILES_OF_PYPI for each in files)


def _plain(url: str) -> str:
    """The address of an index without scheme and credentials."""
    parts = urlsplit(url)
    return f"{parts.netloc.rpartition('@')[2]}{parts.path}".rstrip("/").lower()


def _absolute(entry: Entry, base: Path) -> Entry:
    """An entry with absolute paths."""

    def moved(source: Entry) -> Entry:
        return (
            {**source, "path": str((base / source["path"]).resolve())}
            if "path" in source
            else source
        )

    found = {key: moved(value) if key in SOURCES else value for key, value in entry.items()}
    if "wheels" in entry:
        found["wheels"] = [moved(each) for each in entry["wheels"]]
    return found
