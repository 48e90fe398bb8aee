"""A control group with a CPU quota for a driver and all that it starts (Linux)."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from scaling.machine.topology import cpu_folders
from tests.faults.attempt import NotHereError

PERIOD_US = 100_000


class Quota:
    """A group below that of this process, in either version of control groups."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._is_second = (folder / "cpu.max").exists()
        if not self._is_second and not (folder / "cpu.cfs_quota_us").exists():
            raise NotHereError("the control group of this process does not give quotas to others")

    def grant(self, cpus: float | None) -> None:
        """Let its processes have so many CPUs' worth of time together; None: all there is."""
        quota_us = None if cpus is None else round(cpus * PERIOD_US)
        if self._is_second:
            name, text = "cpu.max", f"{quota_us or 'max'} {PERIOD_US}"
        else:
            name, text = "cpu.cfs_quota_us", f"{quota_us or -1}"
        (self._folder / name).write_text(text)

    def enter(self) -> None:
        """Have the calling process be in it, and all that it starts from now on."""
        (self._folder / "cgroup.procs").write_text(str(os.getpid()))


@contextlib.contextmanager
def quota() -> Iterator[Quota]:
    """Make a group, which must have no process any more in the end.

    Raises:
        NotHereError: the system has no control groups, or does not permit it.
    """
    for above in cpu_folders():
        folder = above / f"scaling-faults-{os.getpid()}"
        try:
            folder.mkdir()
        except OSError as error:
            raise NotHereError(f"no control group can be made here: {error.strerror}") from None
        try:
            yield Quota(folder)
        finally:
            folder.rmdir()
        return
    raise NotHereError("there are no control groups here")
