"""How a child finds the package `workers`, and nothing else of ours.

The folder that holds `workers` also holds `scaling` (and, when installed, all other packages). A
child must not be able to import those, so its path has a folder with `workers` only.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from scaling.base.errors import ScalingError
from scaling.builds import cache

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


@contextmanager
def workers_path(folder: Path | None = None) -> Iterator[Path]:
    """A folder for a child's PYTHONPATH that contains `workers` only.

    It stays in the cache, since a driver that is killed could not remove it.
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


def workers_source_hash(folder: Path | None = None, own_code: Sequence[str] = ()) -> str:
    """SHA-256 over the code that measures, which is part of a study's identity.

    That is the package `workers` and the Python files in a user's own folders. When it is edited,
    the next study is another one.
    """
    digest = hashlib.sha256()
    sources = [(folder or workers_folder(), ""), *((Path(own), ".py") for own in own_code)]
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
            if name.endswith(ending):
                yield Path(folder, name)
