"""A folder for the time of one server: locked while it is in use, removed at the end.

A service that is killed leaves its folder behind, without the lock. The next service removes it.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass

PREFIX = "scaling-service-"


@dataclass(frozen=True)
class Folder:
    """`lock` is a descriptor: the folder is in use as long as any process has it open."""

    path: str
    lock: int


@contextlib.contextmanager
def own_folder(parent: str | None = None, prefix: str = PREFIX) -> Iterator[Folder]:
    """Have a new folder in `parent` (else where temporary files are) while the block runs.

    Raises:
        OSError: none can be made there.
    """
    place = parent or tempfile.gettempdir()
    remove_abandoned(place, prefix)
    made = _made(place, prefix)
    while made is None:  # another process took it for an abandoned one
        made = _made(place, prefix)
    try:
        yield made
    finally:
        shutil.rmtree(made.path, ignore_errors=True)
        os.close(made.lock)


def _made(place: str, prefix: str) -> Folder | None:
    path = tempfile.mkdtemp(prefix=prefix, dir=place)
    lock = _locked(path)
    if lock is not None and os.path.exists(path):
        return Folder(path, lock)
    if lock is not None:
        os.close(lock)
    return None


def remove_abandoned(place: str, prefix: str = PREFIX) -> None:
    """Remove the folders of processes that have ended without doing so."""
    for name in os.listdir(place):
        path = os.path.join(place, name)
        if name.startswith(prefix) and (lock := _locked(path)) is not None:
            shutil.rmtree(path, ignore_errors=True)
            os.close(lock)


def _locked(path: str) -> int | None:
    """Lock a folder; None if it is in use, gone, or another user's."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
