"""Writing that tells a user in a line what could not be written, and how to have it again."""

from collections.abc import Callable
from pathlib import Path

from scaling.errors import ScalingError


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
