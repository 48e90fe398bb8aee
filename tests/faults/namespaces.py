"""A process of its own view of the machine: mounts and networks that end with it (Linux)."""

import os
import subprocess
from pathlib import Path

from tests.faults.attempt import NotHereError


def own_mounts() -> None:
    """Have this process's mounts be its own. It must have no other thread.

    Raises:
        NotHereError: the system does not permit it.
    """
    _own(os.CLONE_NEWNS)
    _run("mount", "--make-rprivate", "/")


def own_network() -> None:
    """Have a network of this process's own, with nothing but the loopback device.

    Raises:
        NotHereError: the system does not permit it.
    """
    _own(os.CLONE_NEWNET)
    _run("ip", "link", "set", "lo", "up")


def mount_memory(folder: Path, kib: int) -> None:
    """Mount a file system of this size; on a folder that has one, change its size."""
    kind = ["-o", f"remount,size={kib}k"] if folder.is_mount() else ["-t", "tmpfs"]
    size = [] if folder.is_mount() else ["-o", f"size={kib}k"]
    _run("mount", *kind, *size, "tmpfs", str(folder))


def mount_read_only(folder: Path) -> None:
    """Have a folder be readable and no more, whoever writes."""
    _run("mount", "--bind", str(folder), str(folder))
    _run("mount", "-o", "remount,bind,ro", str(folder))


def _own(what: int) -> None:
    user, group = os.getuid(), os.getgid()
    try:
        os.unshare(what if user == 0 else what | os.CLONE_NEWUSER)
        if user:
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text(f"0 {user} 1")
            Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    except OSError as error:
        raise NotHereError(f"no namespaces of one's own here: {error.strerror}") from None


def _run(*command: str) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except FileNotFoundError:
        raise NotHereError(f"there is no program {command[0]} here") from None
    except subprocess.CalledProcessError as error:
        raise NotHereError(f"{' '.join(command)}: {error.stderr.strip()}") from None
