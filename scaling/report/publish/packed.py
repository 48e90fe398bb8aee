"""A journal as it is published: gzipped, so that the same journal gives the same bytes."""

import gzip
import zlib
from pathlib import Path

from scaling.base.errors import UsageError


def packed(journal: bytes) -> bytes:
    """The lines of a journal, gzipped; no instant and no file name go into it."""
    return gzip.compress(journal, compresslevel=9, mtime=0)


def unpacked(path: Path) -> bytes:
    """The lines of a journal file, plain or gzipped.

    Raises:
        UsageError: it cannot be read, or a gzipped one has no end.
    """
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if path.suffix == ".gz" else data
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{path} cannot be unpacked: {reason}") from None
