"""The copy of a host's journal in the results folder: always the first part of the original."""

import contextlib
import os
from pathlib import Path
from types import TracebackType
from typing import Self

from scaling.base.errors import ScalingError
from scaling.journal.file import FILE_NAME, opened_alone
from scaling.journal.reading import UNREADABLE
from scaling.journal.record import StudyLine, decode_head, decode_line

CLOSED = -1


class JournalCopy:
    """An open copy that this process alone writes to; whatever it gets is on disk when it returns.

    `size_bytes` is where the host has to go on. What a torn line had is sent again.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME
        self._file = opened_alone(self.path, "command")
        whole, newline, _ = self.path.read_bytes().rpartition(b"\n")
        self.size_bytes = len(whole + newline)
        os.ftruncate(self._file, self.size_bytes)

    def __enter__(self) -> Self:
        """Return itself; leaving closes the file."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._file)
        self._file = CLOSED

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

    def add(self, offset: int, text: str) -> None:
        """Append what a host sent from its byte `offset` on; what is here already is left out.

        So is what comes when the copy is closed: by then the descriptor may be another file's.

        Raises:
            ScalingError: the disk is full, say.
        """
        data = text.encode()[self.size_bytes - offset :] if offset <= self.size_bytes else b""
        if not data or self._file == CLOSED:
            return
        try:
            written = os.write(self._file, data)
            os.fsync(self._file)
        except OSError as error:
            raise ScalingError(
                f"{self.path}: {error.strerror}. Make room and run the same command again: "
                f"the host has the whole journal"
            ) from None
        self.size_bytes += written
