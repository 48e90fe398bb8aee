"""The copy of a host's journal in the results folder: always the first part of the original."""

import contextlib
import os
from pathlib import Path
from typing import Self

from scaling.base.errors import ScalingError
from scaling.journal.file import FILE_NAME, opened_alone
from scaling.journal.reading import UNREADABLE
from scaling.journal.record import StudyLine, decode_head, decode_line


class JournalCopy:
    """An open copy that this process alone writes to; whatever it gets is on disk when it returns.

    `size_bytes` is where the host has to go on. What a torn line had is sent again.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME
        self._file = os.fdopen(opened_alone(self.path, "command"), "ab", buffering=0)
        whole, newline, _ = self.path.read_bytes().rpartition(b"\n")
        self.size_bytes = len(whole + newline)
        self._file.truncate(self.size_bytes)

    def __enter__(self) -> Self:
        """Return itself; leaving closes the file."""
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    @property
    def text(self) -> str:
        """All of it."""
        return self.path.read_text(encoding="utf-8")

    @property
    def fingerprint(self) -> str | None:
        """That of the study that it has; None while it is empty."""
        with self.path.open("rb") as file, contextlib.suppress(*UNREADABLE):
            line = decode_line(file.readline())
            return line.fingerprint if isinstance(line, StudyLine) else None
        return None

    @property
    def runs(self) -> int:
        """How many runs it has."""
        count = 0
        with self.path.open("rb") as file:
            for line in file:
                with contextlib.suppress(*UNREADABLE):
                    count += decode_head(line).kind == "run"
        return count

    def add(self, text: str) -> None:
        """Append what a host sent; nothing more once it is closed, as it is if that fails.

        Raises:
            ScalingError: the disk is full, say.
        """
        if self._file.closed:
            return
        data = rest = text.encode()
        try:
            while rest:  # a disk that is nearly full takes a part
                rest = rest[self._file.write(rest) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            self._file.close()
            raise ScalingError(
                f"{self.path}: {error.strerror}. Make room and run the same command again: "
                f"the host has the whole journal"
            ) from None
        self.size_bytes += len(data)
