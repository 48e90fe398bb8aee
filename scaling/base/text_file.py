"""A user's text file read: what is wrong with it is told in a line."""

from pathlib import Path

from scaling.base.errors import UsageError


def text_in(path: Path, absent: str = "cannot be read (No such file)") -> str:
    """The text of a file, its line ends as they are; `absent` is what to say if it is not there.

    Raises:
        UsageError: it is not there, cannot be read, or is no UTF-8.
    """
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        raise UsageError(f"{path}: {absent}") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror or error})") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: cannot be read: it is not UTF-8 text") from None
