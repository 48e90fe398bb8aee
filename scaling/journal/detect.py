"""Which files are journals, so that nothing else is written in their place."""

import gzip
import zlib
from pathlib import Path

from scaling.journal.reading import NAMES, UNREADABLE
from scaling.journal.record import decode_head

GZIPPED = b"\x1f\x8b"
LONGEST_HEAD_BYTES = 1 << 24  # a file of another kind can be one long line


def holds_journal(path: Path) -> bool:
    """Whether a file is a journal, of any version: by its name, or by its first line.

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
