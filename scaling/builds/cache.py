"""The folder where interpreters and environments are kept, and how things get into it whole.

Whatever is made here takes minutes or is used by several processes at once, so it is made in a
temporary folder beside its destination and moved into place in one rename: it is there or it is
not.
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
"""Takes one line of plain text that is meant for the user."""


def folder() -> Path:
    """The user's cache folder for this project; `SCALING_CACHE` puts it elsewhere."""
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

    `fill` is given an empty temporary folder and returns the path inside it that is to become
    `destination`. One process at a time does this; another that wants the same waits for it and
    then finds it made. What an interrupted process left behind is removed by the next one, and
    so is a folder that is there but not `whole` any more.

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
            "Set SCALING_CACHE to a folder that can."
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
    with _told_of(destination):
        temporary = Path(tempfile.mkdtemp(prefix=prefix, dir=destination.parent))
    try:
        made = fill(temporary)
        with _told_of(destination):
            made.rename(destination)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def _told_of(destination: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ScalingError(
            f"{destination.name} cannot be put into the cache folder {destination.parent} "
            f"({error.strerror}). When that is mended, run the same command again."
        ) from error
