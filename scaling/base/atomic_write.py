"""A file that is there whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole(file: Path) -> Iterator[Path]:
    """A path to write to; it takes the place of `file` if all goes well, and is gone if not.

    What is no file (a pipe, `/dev/stdout`) is written to as it is: nothing can take its place.

    Raises:
        OSError: as any writing does.
    """
    if file.exists() and not file.is_file():
        yield file
        return
    target = file.resolve()  # a link stays one
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        yield unfinished
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)
