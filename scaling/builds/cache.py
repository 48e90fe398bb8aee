"""The folder where interpreters and environments are kept, and how entries are made in it.

Making an entry takes minutes, and several processes may need it at once, so it is made in a
temporary folder beside its destination and moved there in one rename: it is complete or absent.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs
from filelock import FileLock, Timeout

from scaling.base.errors import ScalingError

Say = Callable[[str], None]
"""Called with one line of plain text for the user."""


def folder() -> Path:
    """The user's cache folder for this project; `SCALING_CACHE` names another one."""
    chosen = os.environ.get("SCALING_CACHE")
    return (
        Path(chosen).expanduser().absolute() if chosen else platformdirs.user_cache_path("scaling")
    )


def make_whole(
    destination: Path,
    fill: Callable[[Path], Path],
    *,
    say: Say,
    whole: Callable[[Path], bool] = Path.exists,
) -> None:
    """Make the folder (or file) `destination` once, whole or not at all.

    `fill` gets an empty temporary folder and returns the path in it that becomes `destination`. One
    process at a time makes it, while others wait. The next process removes the rest of an
    interrupted one, and a folder that is no longer `whole`.

    Raises:
        ScalingError: the cache folder cannot be written.
    """
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(destination.parent / f".{destination.name}.lock")
        try:
            lock.acquire(blocking=False)
        except Timeout:
            say(f"another process is making {destination.name}: waiting for it")
            lock.acquire()
    except OSError as error:
        raise ScalingError(
            f"the cache folder {destination.parent} cannot be written ({error.strerror}). "
            "Set SCALING_CACHE to a folder that can be written."
        ) from error
    try:
        if not whole(destination):
            shutil.rmtree(destination, ignore_errors=True)
            _fill_and_move(destination, fill)
    finally:
        lock.release()


def _fill_and_move(destination: Path, fill: Callable[[Path], Path]) -> None:
    prefix = f".{destination.name}~"
    for stale in destination.parent.glob(f"{prefix}*"):
        shutil.rmtree(stale, ignore_errors=True)
    with _explained(destination):
        temporary = Path(tempfile.mkdtemp(prefix=prefix, dir=destination.parent))
    try:
        made = fill(temporary)
        with _explained(destination):
            made.rename(destination)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def _explained(destination: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ScalingError(
            f"{destination.name} cannot be put into the cache folder {destination.parent} "
            f"({error.strerror}). Fix that, then run the same command again."
        ) from error
