"""What samples a run from outside: the same few steps for perf and for Python stacks."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from scaling.analysis.function_gains import Tally
from scaling.base.errors import ScalingError
from scaling.journal.beside import SampleKind

LIBRARY = re.compile(r".*/(?:site-packages|dist-packages|python3\.\d+t?)/")


type Thread = tuple[int, int]  # the ids of its process and of itself


class UnavailableError(ScalingError):
    """A source cannot sample here; the message says why, and what would permit it."""


class Source(Protocol):
    """Samples the workers of a run from when they are ready to the end of the window."""

    @property
    def note(self) -> str:
        """What it could not see, in all runs; empty where it saw everything."""

    def start(self, threads: Sequence[Thread]) -> None:
        """Begin to sample these threads; return when it has begun.

        Raises:
            UnavailableError: it is not possible.
        """

    def stop(self) -> None:
        """End sampling."""

    def tallies(self, opened_ns: int, closed_ns: int) -> Mapping[SampleKind, Tally]:
        """The samples in the window (monotonic ns), by the first kind of each part of a profile.

        Raises:
            UnavailableError: they cannot be read.
        """

    def close(self) -> None:
        """End what is still running, and remove the files; the source can start again."""


def file_shown(file: str, folders: Sequence[str]) -> str:
    """A source file without the machine's folders: its place in a library or in one of these."""
    for folder in folders:
        if folder and file.startswith(f"{folder.rstrip('/')}/"):
            return file[len(folder.rstrip("/")) + 1 :]
    below = LIBRARY.sub("", file)
    return below if below != file else Path(file).name


def python_name(function: str, file: str, folders: Sequence[str]) -> str:
    """`Handle._run (asyncio/events.py)`."""
    return f"{function} ({file_shown(file, folders)})"
