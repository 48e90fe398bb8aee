"""Writing that tells a user in a line what could not be written, and how to have it again."""

from collections.abc import Callable
from pathlib import Path

from scaling.base.atomic_write import whole
from scaling.base.errors import ScalingError, UsageError
from scaling.journal.detect import holds_journal


def try_writing[T](path: Path, write: Callable[[], T], again: str) -> T:
    """Write something; `path` and the command that writes it `again` are for the message.

    Raises:
        ScalingError: the system says something against it.
    """
    try:
        return write()
    except OSError as error:
        raise ScalingError(
            f"{error.filename or path} cannot be written ({error.strerror or error}); the journal "
            f"is whole. `{again}` writes it again"
        ) from None


def write_file(file: Path, write: Callable[[Path], object], again: str) -> None:
    """Write a file that a user may have named, whole or not at all; its folder is made.

    What can be read again from a journal can be lost; a journal cannot. So a file that is one is
    never written over, whatever it is called. `write` gets the path to write to; `again` is as in
    `try_writing`.

    Raises:
        UsageError: the file is a journal.
        ScalingError: it cannot be written.
    """

    def written() -> None:
        if holds_journal(file):
            raise UsageError(f"{file} is a journal: nothing is written over it, name another file")
        file.parent.mkdir(parents=True, exist_ok=True)
        with whole(file) as unfinished:
            write(unfinished)

    try_writing(file, written, again)
