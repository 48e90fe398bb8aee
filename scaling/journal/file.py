"""The journal: the append-only file of everything that was run, and how a study resumes from it.

Resume is replay: what is in the journal has been measured, the rest of the plan is still to do.
One writer at a time; each line is one write followed by an fsync, so a killed writer leaves at most
one torn line, at the end. It is recognised and set aside.
"""

import os
import shutil
from array import array
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Literal, Self

from scaling.base.errors import ScalingError, UsageError
from scaling.base.files import refusal
from scaling.journal.reading import NAMES, UNREADABLE, is_torn_head
from scaling.journal.record import (
    SCHEMA,
    CeilingLine,
    Line,
    RatesLine,
    RunLine,
    SetAsideLine,
    StudyLine,
    decode_head,
    decode_line,
    encode_line,
)

FILE_NAME = NAMES[0]

try:
    import fcntl
except ImportError:  # Windows: a second writer is not noticed there
    fcntl = None  # type: ignore[assignment]


def _opened_alone(path: Path) -> int:
    """Open a file to append to, which no other process does meanwhile; return its descriptor.

    Raises:
        UsageError: it cannot be written, or another process writes it.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    except OSError as error:
        raise UsageError(
            f"cannot write to {path.parent}: {refusal(error)}. "
            f"Choose another folder with --output DIR"
        ) from None
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        raise UsageError(
            f"{path} is being written by another study right now. "
            f"Wait for it, or choose another folder with --output DIR"
        ) from None
    except OSError:  # a file system without locks: another writer is not noticed, as on Windows
        pass
    return file


class Runs(Collection[RunLine]):
    """The runs in a file, in its order. `file` is its descriptor, open as long as they are read.

    A run takes ten KiB of memory and more: a driver that kept them would grow beside what it
    measures. So they are read from the file whenever they are looked at.

    What another program has changed meanwhile is left out; the journal's next line reports that.
    """

    def __init__(self, file: int) -> None:
        self._file = file
        self._starts = array("q")
        self._sizes_bytes = array("q")

    def add(self, start: int, size_bytes: int) -> None:
        """There is one more, whose line starts at this byte of the file."""
        self._starts.append(start)
        self._sizes_bytes.append(size_bytes)

    def __len__(self) -> int:
        return len(self._starts)

    def __iter__(self) -> Iterator[RunLine]:
        """One after the other; none is kept."""
        for start, size_bytes in zip(self._starts, self._sizes_bytes, strict=True):
            os.lseek(self._file, start, os.SEEK_SET)  # lines are appended at the end nevertheless
            try:
                line = decode_line(os.read(self._file, size_bytes))
            except UNREADABLE:
                continue
            if isinstance(line, RunLine):
                yield line

    def __contains__(self, run: object) -> bool:
        return any(run == each for each in self)


class JournalFile:
    """An open journal that this process alone writes to.

    `torn_head` is what was left of a first line that a power failure cut off. Nothing had been
    measured then, so the study begins anew, and the rest of that line follows the new first one.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.torn_head = b""
        self.head: StudyLine | None = None
        self.ceilings: list[CeilingLine] = []
        self._size = 0
        self._file = _opened_alone(path)
        self.runs = Runs(self._file)
        try:
            self._replay()
        except BaseException:
            os.close(self._file)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file; what was appended is on disk already."""
        os.close(self._file)

    def append(self, line: Line, record: bytes | None = None) -> None:
        """Write one line and have it on disk before anything else is measured.

        `record` is what the child printed, kept word for word in a run's line.

        Raises:
            ScalingError: the disk is full, or another program removed or changed the file. In the
                second case the line is kept nevertheless.
        """
        begins = self.head is None
        harm = intrusion(self._file, self.path, self._size)
        # Another program may have left half a line.
        encoded = encode_line(line, record)
        self._write(b"\n" * (harm == "changed") + encoded)
        self._keep(line, self._size - len(encoded), len(encoded))
        if harm:
            raise ScalingError(self._after(harm))
        if begins and self.torn_head:
            self._set_aside(self.torn_head)

    def _write(self, data: bytes) -> None:
        try:
            written = os.write(self._file, data)
            os.fsync(self._file)
        except OSError as error:
            written, why = 0, error.strerror
        else:
            why = f"the disk took {written} of {len(data)} bytes"
        self._size = os.fstat(self._file).st_size
        if written != len(data):
            raise ScalingError(
                f"{self.path}: {why}. "
                f"Make room and run the same command again: nothing measured before is lost"
            )

    def _keep(self, line: Line | None, start: int, size_bytes: int) -> None:
        if isinstance(line, StudyLine):
            self.head = self.head or line
        elif isinstance(line, RunLine):
            self.runs.add(start, size_bytes)
        elif isinstance(line, CeilingLine):
            self.ceilings.append(line)
        elif isinstance(line, RatesLine) and self.head:
            self.head = line.of(self.head)

    def _after(self, harm: str) -> str:
        """The place of the lines after another program did this, and the remedy."""
        by = f"{self.path} was {harm} by another program while the study was measured"
        if harm == "removed":
            try:
                saved = saved_again(self._file, self.path)
            except OSError as error:
                return f"{by}, and cannot be written again ({refusal(error)}): what it had is lost"
            back = "" if saved == self.path else f"move it to {self.path}, and "
            return f"{by}. All of it is in {saved} again: {back}run the same command to go on"
        if harm == "replaced":
            return f"{by}. All of it is in the old file: put that back, and run the same command"
        return f"{by}. Run the same command to go on with what is left of it"

    def _replay(self) -> None:
        self._size, start = os.fstat(self._file).st_size, 0
        with self.path.open("rb") as file:
            first = file.readline()
            if is_torn_head(first) and not any(each.strip(b"\0") for each in file):
                file.seek(0)
                self.torn_head = file.read()
                self._cut(0)
                return
            file.seek(0)
            for number, text in enumerate(file, start=1):
                whole = text.endswith(b"\n")
                line = self._replayed(text) if whole else None
                if number == 1 and not isinstance(line, StudyLine):
                    raise self._no_journal()
                if not whole:
                    self._end_last(text, start)
                    return
                self._keep(line, start, len(text))
                start += len(text)

    def _replayed(self, text: bytes) -> Line | None:
        """A whole line; None where it is lost, which `scaling.load` reports."""
        _refuse_newer(text, self.path)
        try:
            return decode_line(text)
        except UNREADABLE:
            return None

    def _end_last(self, text: bytes, start: int) -> None:
        """Complete or set aside a last line without its end, which starts at that byte."""
        try:
            line = decode_line(text)
        except UNREADABLE:
            self._cut(start)
            self._set_aside(text)
        else:  # the line is whole, but for its newline
            self._write(b"\n")
            self._keep(line, start, len(text))

    def _cut(self, size: int) -> None:
        os.ftruncate(self._file, size)
        self._size = size

    def _set_aside(self, torn: bytes) -> None:
        self._write(encode_line(SetAsideLine(text=torn.decode(errors="replace"))))

    def _no_journal(self) -> UsageError:
        return UsageError(
            f"{self.path}: line 1 does not describe a study. "
            f"Move the file away or choose another folder with --output DIR"
        )


def _refuse_newer(text: bytes, path: Path) -> None:
    try:
        schema = decode_head(text).schema
    except UNREADABLE:
        return
    if schema is not None and schema > SCHEMA:
        raise UsageError(
            f"{path} was written by a newer scaling (journal schema {schema}, this one writes "
            f"{SCHEMA}). Upgrade, or choose another folder with --output DIR"
        )


def intrusion(file: int, path: Path, size: int) -> Literal["removed", "replaced", "changed"] | None:
    """The change by another program to an open file that had so many bytes, at `path`."""
    ours = os.fstat(file)
    if ours.st_nlink == 0:
        return "removed"
    try:
        if not os.path.samestat(ours, path.stat()):
            return "replaced"
    except OSError:
        return "replaced"  # moved, with its folder perhaps, and nothing is in its place
    return None if ours.st_size == size else "changed"


def saved_again(file: int, path: Path) -> Path:
    """Copy an open file that was removed to its place, or beside what is there now.

    Raises:
        OSError: it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    number, saved = 1, path
    while saved.exists():
        saved = path.with_name(f"{path.stem}-saved-{number}{path.suffix}")
        number += 1
    with os.fdopen(os.dup(file), "rb") as old, saved.open("xb") as new:
        old.seek(0)
        shutil.copyfileobj(old, new)
        new.flush()
        os.fsync(new.fileno())
    return saved
