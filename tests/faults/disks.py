"""The disk full, and a CPU quota used up: in mounts and control groups of this process (Linux)."""

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from scaling.base.errors import ScalingError
from scaling.journal.file import FILE_NAME
from scaling.machine.topology import cpu_folders
from tests.faults.checks import Fault, Key, NotHereError, Try, complete, judged, latest, wrong
from tests.faults.drivers import PATIENCE_S, finished, start, study
from tests.faults.journal import do_study, resumed, whole_journal
from tests.faults.kills import TURNS

ROOM_KIB = (16, 32, 64, 128)
ENOUGH_KIB = 16_384
PERIOD_US = 100_000
FEW_CPUS = 0.3  # less than two workers get on a machine that is busy besides


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


def quota_granted(folder: Path) -> Iterator[Try]:
    """A quota holds back the first group, whichever of its runs has the turn; then none does.

    A slice is about as long as a quota's period, so that the one that used it up is not the only
    one that is throttled: the whole group is made again.
    """
    with quota() as group, study(**TURNS) as ready:
        driver = start(ready, folder, lambda: enter(group))
        driver.wait_for_window(len(TURNS["model"]))  # all of them are alive, and slices begin
        grant(group, FEW_CPUS)
        deadline = time.monotonic() + PATIENCE_S
        while not _runs_in(folder) and not driver.wait(0) and time.monotonic() < deadline:
            time.sleep(0.01)
        grant(group, None)
        yield finished(driver)
        found = judged(folder)
        first = {(each.block, each.cell) for each, why in found if why and each.attempt == 1}
        again = {(each.block, each.cell) for each, _ in found if each.attempt > 1}
        throttled = any(each.disturbance.throttled_s for each, _ in found)
        yield wrong("" if throttled else "the quota is in no record")
        yield wrong("" if first and again >= first else f"held back {first}, again {again}")
        left = [why for _, why in latest(folder) if why and "quota" in why]
        yield wrong(f"still held back without a quota: {left}" if left else "")
        yield complete(folder, len(ready.plan.runs))


def _runs_in(folder: Path) -> int:
    """How many runs its journal has so far."""
    with contextlib.suppress(ScalingError, OSError):
        return len(judged(folder)) if (folder / FILE_NAME).exists() else 0
    return 0


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
    _run("mount", "--make-rprivate", "/")


def mount_memory(folder: Path, kib: int) -> None:
    """Mount a file system of this size; on a folder that has one, change its size."""
    folder.mkdir(exist_ok=True)
    kind = (f"remount,size={kib}k",) if folder.is_mount() else (f"size={kib}k", "-t", "tmpfs")
    _run("mount", "-o", *kind, "tmpfs", str(folder))


def _run(*command: str) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except FileNotFoundError:
        raise NotHereError(f"there is no program {command[0]} here") from None
    except subprocess.CalledProcessError as error:
        raise NotHereError(f"{' '.join(command)}: {error.stderr.strip()}") from None


@contextlib.contextmanager
def quota() -> Iterator[Path]:
    """A control group below that of this process, of either version; empty in the end.

    Raises:
        NotHereError: the system has none that gives quotas, or does not permit it.
    """
    above = next(iter(cpu_folders()), None)
    if above is None:
        raise NotHereError("there are no control groups here")
    folder = above / f"scaling-faults-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        raise NotHereError(f"no control group can be made here: {error.strerror}") from None
    try:
        if not any((folder / name).exists() for name in ("cpu.max", "cpu.cfs_quota_us")):
            raise NotHereError("the control group of this process does not give quotas to others")
        yield folder
    finally:
        folder.rmdir()


def grant(group: Path, cpus: float | None) -> None:
    """Let its processes have so many CPUs' worth of time together; None: all there is."""
    quota_us = None if cpus is None else round(cpus * PERIOD_US)
    if (group / "cpu.max").exists():
        (group / "cpu.max").write_text(f"{quota_us or 'max'} {PERIOD_US}")
    else:
        (group / "cpu.cfs_quota_us").write_text(f"{quota_us or -1}")


def enter(group: Path) -> None:
    """Have the calling process be in it, and all that it starts from now on."""
    (group / "cgroup.procs").write_text(str(os.getpid()))


FAULTS: dict[str, Fault] = {
    "disk full": disk_full,
    "disk full in a group": disk_full_in_a_group,
    "quota for a group": quota_granted,
}
