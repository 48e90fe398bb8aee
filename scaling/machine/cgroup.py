"""The control groups of this process, version 1 or 2: their folders, CPU quota and memory limit.

A quota bends a scaling curve as the number of cores does, so it counts as topology. The folders
also hold `cpu.stat`, from which throttling is read. Beyond the limit of memory the kernel kills.
"""

import math
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from scaling.base.files import text_or_empty


class _Mount(NamedTuple):
    """Where a hierarchy of control groups is mounted, and which of its groups is on top there."""

    top: PurePosixPath
    at: PurePosixPath
    version: int


def cpu_folders(root: Path = Path("/")) -> list[Path]:
    """Folders of this process's CPU control groups, its own first, then those above it.

    `root` is where `/proc` and `/sys` are found. Empty where there are no control groups.
    """
    return _folders(root, "cpu")


def memory_limit_bytes(root: Path = Path("/")) -> float:
    """Bytes of memory that the strictest control group allows; infinite without a limit."""
    texts = (
        text_or_empty(folder / name)
        for folder in _folders(root, "memory")
        for name in ("memory.max", "memory.limit_in_bytes")
    )
    return min((int(text) for text in texts if text.isdecimal()), default=math.inf)


def _folders(root: Path, controller: str) -> list[Path]:
    groups = _groups(text_or_empty(root / "proc/self/cgroup"), controller)
    folders = []
    for mount in _mounts(text_or_empty(root / "proc/self/mountinfo"), controller):
        if mount.version not in groups:
            continue
        group = groups[mount.version]
        # A path of another namespace: only the top of the mount is visible.
        ours = group.is_relative_to(mount.top) and ".." not in group.parts
        below = group.relative_to(mount.top) if ours else PurePosixPath()
        for part in (below, *below.parents):
            folder = root / mount.at.relative_to("/") / part.as_posix().lstrip("/")
            if folder.is_dir() and folder not in folders:
                folders.append(folder)
    return folders


def cpu_quota(root: Path = Path("/")) -> float | None:
    """CPUs' worth of time that the strictest control group grants; None: no limit."""
    quotas = [quota for folder in cpu_folders(root) if (quota := _quota(folder)) is not None]
    return min(quotas, default=None)


def _quota(folder: Path) -> float | None:
    words = text_or_empty(folder / "cpu.max").split() or [
        text_or_empty(folder / "cpu.cfs_quota_us"),
        text_or_empty(folder / "cpu.cfs_period_us"),
    ]
    try:
        quota_us, period_us = map(int, words)
    except ValueError:  # "max", or nothing there
        return None
    return quota_us / period_us if quota_us > 0 and period_us > 0 else None


def _groups(text: str, controller: str) -> dict[int, PurePosixPath]:
    """This process's group in each version of the hierarchy, from /proc/self/cgroup."""
    groups = {}
    for line in text.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            groups[2] = PurePosixPath(path)
        elif controller in controllers.split(","):
            groups[1] = PurePosixPath(path)
    return groups


def _mounts(text: str, controller: str) -> Iterator[_Mount]:
    """Mounts of hierarchies that can hold a controller, from /proc/self/mountinfo (proc(5))."""
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if len(fields) < 5 or len(kind) < 3:
            continue
        top, at = PurePosixPath(fields[3]), PurePosixPath(fields[4])
        if kind[0] == "cgroup2":
            yield _Mount(top, at, version=2)
        elif kind[0] == "cgroup" and controller in kind[2].split(","):
            yield _Mount(top, at, version=1)
