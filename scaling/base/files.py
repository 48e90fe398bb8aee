"""Reading of users' files, with errors of a line; writing of files, whole or not at all."""

import glob
import hashlib
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scaling.base.errors import UsageError


def text_in(path: Path, absent: str = "cannot be read (No such file)") -> str:
    """The text of a user's file with its own line ends, without a byte order mark.

    Raises:
        UsageError: it does not exist (with the message `absent`), cannot be read, or is not UTF-8.
    """
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise UsageError(f"{path}: {absent}") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror or error})") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: cannot be read: it is not UTF-8 text") from None


def text_or_empty(path: Path) -> str:
    """The text of one of the system's files, stripped; empty if it cannot be read."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def refusal(error: OSError) -> str:
    """Reason the system refuses to write, to be put into brackets."""
    if isinstance(error, FileExistsError):
        return "it is a file, not a folder"
    if isinstance(error, NotADirectoryError):
        return "a part of this path is a file, not a folder"
    return error.strerror or str(error)


@contextmanager
def whole(file: Path) -> Iterator[Path]:
    """A path to write to. The new file replaces `file` if no error occurs, else it is removed.

    Unfinished files of killed processes of this host are removed, too. A pipe or a device
    (`/dev/stdout`) cannot be replaced, and is written to directly.

    Raises:
        OSError: the file cannot be written.
    """
    if file.exists() and not file.is_file():
        yield file
        return
    target = file.resolve()  # a link stays one
    _remove_unfinished(target)
    unfinished = target.with_name(f".{target.name}.{_host()}.{os.getpid()}")
    try:
        yield unfinished
        unfinished.replace(target)
    except OSError as error:
        if error.filename == str(unfinished):
            error.filename = str(file)  # the only name that its user knows
        raise
    finally:
        unfinished.unlink(missing_ok=True)


def _remove_unfinished(target: Path) -> None:
    """Remove the unfinished files of `target` whose processes, on this host, have ended."""
    import psutil

    for left in target.parent.glob(f".{glob.escape(target.name)}.{_host()}.*"):
        pid = left.suffix[1:]
        if pid.isdecimal() and not psutil.pid_exists(int(pid)):
            left.unlink(missing_ok=True)


def _host() -> str:
    """A digest of this host's name, and on Linux of its PID namespace.

    It tells process ids of this host from those of others that write to the same folder.
    """
    try:
        processes = Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        processes = 0
    return hashlib.sha256(f"{platform.node()} {processes}".encode()).hexdigest()[:8]
