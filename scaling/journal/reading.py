"""Lines of a journal file, one after the other: plain or gzipped, whole or cut short.

A power failure may have cut a journal off at any byte, and it may come from someone else. The
first line decides whether it can be read at all. Later lines that cannot be read are reported and
skipped.
"""

import sys
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import BinaryIO

import msgspec

from scaling.base.errors import UsageError
from scaling.journal.record import (
    SCHEMA,
    Line,
    SplitRun,
    StudyLine,
    decode_head,
    decode_line,
    decode_split,
)

NAMES = ("journal.jsonl", "journal.jsonl.gz")
PUBLISHED_NAME = NAMES[1]  # a published study is never written to
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
HEAD_BEGINS = b'{"kind":"study",'
GZIP = 16 + zlib.MAX_WBITS  # what zlib calls a gzip header
CHUNK_BYTES = 1 << 18
WHOLE = range(sys.maxsize)
START = "begin one with: scaling run --output DIR"


def find_journal(path: Path) -> Path:
    """The journal file that `path` means: itself, or the one in that folder.

    Raises:
        UsageError: there is none.
    """
    if path.is_file():
        return path
    if not path.exists():
        raise UsageError(f"{path}: no such file or folder; {START}")
    if found := journal_in(path):
        return found
    inside = ", ".join(
        sorted({each.parent.name for name in NAMES for each in path.glob(f"*/{name}")})
    )
    hint = f"name a folder inside that has one: {inside}" if inside else START
    raise UsageError(f"{path}: no {NAMES[0]} in this folder; {hint}")


def journal_in(folder: Path) -> Path | None:
    """The journal file in a folder, the plain one first; None without, and where it is none."""
    return next((folder / name for name in NAMES if (folder / name).is_file()), None)


def published_in(folder: Path) -> Iterator[Path]:
    """The folders FOLDER/MACHINE/STUDY that hold a published study."""
    return (file.parent for file in folder.glob(f"*/*/{PUBLISHED_NAME}"))


def read_lines(path: Path, note: Callable[[str], None]) -> Iterator[Line]:
    """Read every line of a known kind from the journal at `path`, the study line first.

    A last line without its end, as an interrupted writer leaves it, is skipped silently. `note` is
    called with a message, line number included, for every other line that is skipped.

    Raises:
        UsageError: empty, not a journal, two journals in one, or written by a newer version.
    """
    return _read(path, note, WHOLE, decode_line)


def read_split(
    path: Path, note: Callable[[str], None], part: range = WHOLE
) -> Iterator[Line | SplitRun]:
    """Read as `read_lines` does, but leave ticks as text. Of a `part`, a range of bytes, only lines
    that begin there follow the study line.
    """
    return _read(path, note, part, decode_split)


def study_line_in(path: Path) -> StudyLine:
    """The first line of a journal: what was asked, and where it was measured.

    Raises:
        UsageError: as `read_lines`.
    """
    first = next(_read(path, lambda _: None, range(1), decode_line))
    assert isinstance(first, StudyLine)
    return first


def _read[T](
    path: Path, note: Callable[[str], None], part: range, decode: Callable[[bytes], T | None]
) -> Iterator[StudyLine | T]:
    # A file must not wait for the collector to be closed.
    with closing(_raw_lines(path, part)) as lines:
        yield _study_line(path, _first(path, lines))
        left_out = cache(lambda: _count_before(path, part))
        for place, raw in enumerate(lines, start=2):
            try:
                line = decode(raw)
            except UNREADABLE as error:
                if raw.endswith(b"\n") and raw.strip():
                    note(f"{path}: line {left_out() + place} skipped: {error}")
                continue
            if isinstance(line, StudyLine):
                raise UsageError(
                    f"{path}: a second study begins at line {left_out() + place}; "
                    "keep each in a file of its own"
                )
            if line is not None:
                yield line


def _first(path: Path, lines: Iterator[bytes]) -> bytes:
    first = next(lines, b"")
    if not first.strip() and not any(raw.strip() for raw in lines):
        raise UsageError(f"{path}: the journal is empty; start the study again in another folder")
    if is_torn_head(first) and not any(raw.strip(b"\0") for raw in lines):
        raise UsageError(
            f"{path}: its only line was cut off, so nothing was measured. "
            f"Run the study again with the same --output DIR"
        )
    return first


def is_torn_head(data: bytes) -> bool:
    """Return True if this is all that a power failure left of a journal's first line.

    The line may end early. File systems such as ext4 and XFS may also have kept the length of the
    file but not its bytes, and give NUL bytes instead: for all of it, or for some blocks.
    """
    line, newline, rest = data.partition(b"\n")
    if not line or rest.strip(b"\0") or (newline and b"\0" not in line):
        return False
    return all(byte in (0, ours) for byte, ours in zip(line, HEAD_BEGINS, strict=False))


def _study_line(path: Path, raw: bytes) -> StudyLine:
    try:
        head = decode_head(raw)
    except UNREADABLE:
        beside = journal_in(path.parent)
        name = f"name its folder, {path.parent}" if beside else "name the folder that a run wrote"
        raise UsageError(
            f"{path}: not a study folder, and not a journal of scaling: its first line does not "
            f"describe a study; {name}"
        ) from None
    if head.schema is not None and head.schema > SCHEMA:
        raise UsageError(
            f"{path} was written by a newer scaling (journal schema {head.schema}, this one reads "
            f"{SCHEMA}): upgrade scaling"
        )
    try:
        line = decode_line(raw)
    except UNREADABLE as error:
        raise UsageError(f"{path}: the first line cannot be read: {error}") from None
    if not isinstance(line, StudyLine):
        raise UsageError(
            f"{path}: the study line is missing (the first line is of kind {head.kind!r}); "
            "its arms are not known without it"
        )
    return line


def _raw_lines(path: Path, part: range) -> Generator[bytes]:
    """The first line and those that begin in `part`; of a gzipped file, which must be unpacked from
    its start, all that begin before the part's end.
    """
    begins_at = 0
    try:
        with path.open("rb", CHUNK_BYTES) as file:
            packed = path.suffix == ".gz"
            for line in _unpacked_lines(file) if packed else file:
                if begins_at >= part.stop:
                    break
                yield line
                begins_at += len(line)
                if begins_at < part.start and not packed:
                    file.seek(part.start - 1)
                    begins_at = part.start - 1 + len(file.readline())
    except (OSError, zlib.error) as error:
        raise UsageError(f"{path}: cannot be read: {getattr(error, 'strerror', error)}") from None


def _count_before(path: Path, part: range) -> int:
    """The number of lines between the first one and a part."""
    with closing(_raw_lines(path, range(part.start))) as lines:
        return max(0, sum(1 for _ in lines) - 1)


def _unpacked_lines(file: BinaryIO) -> Iterator[bytes]:
    """Lines of a gzipped file; one that was cut short gives all that is left of it.

    (`gzip.open` would throw the last good part away with its `EOFError`.)
    """
    unpacker, torn = zlib.decompressobj(wbits=GZIP), b""
    while packed := file.read(CHUNK_BYTES):
        while packed:
            *whole, torn = (torn + unpacker.decompress(packed)).split(b"\n")
            yield from (line + b"\n" for line in whole)
            packed = unpacker.unused_data
            if unpacker.eof:  # files may be joined end to end
                unpacker = zlib.decompressobj(wbits=GZIP)
    if torn:
        yield torn
