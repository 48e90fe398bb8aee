"""The disk full, in mounts of this process alone (Linux)."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from scaling.base.errors import ScalingError
from tests.faults.checks import Fault, Key, NotHereError, Try, complete, wrong
from tests.faults.drivers import finished, start, study
from tests.faults.journal import do_study, resumed, whole_journal
from tests.faults.kills import TURNS

ROOM_KIB = (16, 32, 64, 128)
ENOUGH_KIB = 16_384


def disk_full(folder: Path) -> Iterator[Try]:
    """The results are on a disk of a few KiB; then there is room."""
    own_mounts()
    for kib in range(4, len(whole_journal(folder)) // 1024, 4):
        disk = folder / f"{kib}-kib"
        mount_memory(disk, kib)
        acknowledged: set[Key] = set()
        try:
            do_study(disk / "out", acknowledged.add)
            yield wrong(f"nothing was refused with {kib} KiB")
        except ScalingError as error:
            said = str(error)
            yield wrong("" if "No space left" in said or "the disk took" in said else said)
        mount_memory(disk, ENOUGH_KIB)
        yield resumed(disk / "out", acknowledged)


def disk_full_in_a_group(folder: Path) -> Iterator[Try]:
    """The results of a group find no room, or some of them; then there is room."""
    own_mounts()
    with study(**TURNS) as ready:
        for kib in ROOM_KIB:
            disk = folder / f"{kib}-kib"
            mount_memory(disk, kib)
            yield finished(start(ready, disk), codes=(0, 1, 2))
            mount_memory(disk, ENOUGH_KIB)
            yield finished(start(ready, disk))
            yield complete(disk, len(ready.plan.runs))


def own_mounts() -> None:
    """Have this process's mounts be its own. It must have no other thread.

    Raises:
        NotHereError: the system does not permit it.
    """
    user, group = os.getuid(), os.getgid()
    try:
        os.unshare(os.CLONE_NEWNS | (os.CLONE_NEWUSER if user else 0))
        if user:
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text(f"0 {user} 1")
            Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    except OSError as error:
        raise NotHereError(f"no mounts of one's own here: {error.strerror}") from None
    mount("--make-rprivate", "/")


def mount_memory(folder: Path, kib: int) -> None:
    """Mount a file system of this size; on a folder that has one, change its size."""
    folder.mkdir(exist_ok=True)
    kind = (f"remount,size={kib}k",) if folder.is_mount() else (f"size={kib}k", "-t", "tmpfs")
    mount("-o", *kind, "tmpfs", str(folder))


def mount(*options: str) -> None:
    """Mount something.

    Raises:
        NotHereError: the system does not permit it.
    """
    done = subprocess.run(["mount", *options], capture_output=True, text=True)
    if done.returncode:
        raise NotHereError(f"mount {' '.join(options)}: {done.stderr.strip()}")


FAULTS: dict[str, Fault] = {"disk full": disk_full, "disk full in a group": disk_full_in_a_group}
