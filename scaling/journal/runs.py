"""The runs of an open journal, read from its file whenever they are looked at.

A run takes ten KiB of memory and more. A driver that kept them would grow beside what it measures.
"""

import os
from array import array
from collections.abc import Collection, Iterator

from scaling.journal.reading import UNREADABLE
from scaling.journal.record import RunLine, decode_line


class Runs(Collection[RunLine]):
    """The runs in a file, in its order. `file` is its descriptor, open as long as they are read.

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
        """How many there are."""
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
        """Whether one is equal to this."""
        return any(run == each for each in self)
