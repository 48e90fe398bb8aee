"""Files are written, but never over a journal: what is made from a journal can be made again."""

import gzip
import zlib
from collections.abc import Callable
from pathlib import Path

from scaling.base.errors import OF_THE_DISK, ScalingError, UsageError
from scaling.base.files import refusal, whole
from scaling.journal.reading import NAMES, UNREADABLE
from scaling.journal.record import decode_head

GZIPPED = b"\x1f\x8b"
LONGEST_HEAD_BYTES = 1 << 24  # a file of another kind can be one long line


def holds_journal(path: Path) -> bool:
    """Return True if a file is a journal, of any version: by its name, or by its first line.

    Raises:
        OSError: there is a file that cannot be read.
    """
    if path.name in NAMES:
        return True
    if not path.is_file():
        return False
    with path.open("rb") as file:
        packed = file.read(len(GZIPPED)) == GZIPPED
    try:
        with gzip.open(path) if packed else path.open("rb") as file:
            return decode_head(file.readline(LONGEST_HEAD_BYTES)).kind == "study"
    except (gzip.BadGzipFile, EOFError, zlib.error, *UNREADABLE):
        return False


def try_writing[T](path: Path, write: Callable[[], T], again: str) -> T:
    """Write something; the message names `path` and the command that writes it `again`.

    Raises:
        UsageError: that place cannot be written.
        ScalingError: it could, but the disk is full or fails.
    """
    try:
        return write()
    except OSError as error:
        kind = ScalingError if error.errno in OF_THE_DISK else UsageError
        raise kind(
            f"{path} cannot be written ({refusal(error)}). The journal "
            f"is not affected; `{again}` writes the file again"
        ) from None


def write_file(file: Path, write: Callable[[Path], object], again: str) -> None:
    """Write a file whole or not at all, and make its folder; never over a journal.

    `write` gets the path to write to; `again` is as in `try_writing`.

    Raises:
        UsageError: the file is a journal, or cannot be written there.
        ScalingError: the disk is full or fails.
    """

    def written() -> None:
        if holds_journal(file):
            raise UsageError(f"{file} is a journal and is not overwritten; name another file")
        file.parent.mkdir(parents=True, exist_ok=True)
        with whole(file) as unfinished:
            write(unfinished)

    try_writing(file, written, again)


def write_text(file: Path, text: str, again: str) -> None:
    """Write a file of text as `write_file` does, which says what is raised."""
    write_file(file, lambda unfinished: unfinished.write_text(text, encoding="utf-8"), again)
