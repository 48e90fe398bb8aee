"""Whether an open journal is still what everyone finds there: other programs may interfere."""

import os
import shutil
from pathlib import Path
from typing import Literal

type Harm = Literal["removed", "replaced", "changed"]


def intrusion(file: int, path: Path, size: int) -> Harm | None:
    """What another program did to an open file that had so many bytes and was at `path`."""
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
