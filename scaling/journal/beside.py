"""Files beside a journal: what was found out and is no run of the study. They are published."""

from pathlib import Path
from typing import Any

import msgspec

from scaling.base.files import whole

CHECK, FAULTS, SOAK, PROFILE = "check.json", "faults.json", "soak.json", "profile.json"
NAMES = (CHECK, FAULTS, SOAK, PROFILE)


def write_beside(folder: Path, name: str, value: Any) -> None:
    """Write the file of that name beside the journal.

    Raises:
        OSError: it cannot be written.
    """
    with whole(folder / name) as file:
        file.write_bytes(msgspec.json.format(msgspec.json.encode(value)))


def read_beside[T](folder: Path, name: str, kind: type[T]) -> T | None:
    """What the file has; None where there is none, or it cannot be read."""
    try:
        return msgspec.json.decode((folder / name).read_bytes(), type=kind)
    except (OSError, msgspec.DecodeError):
        return None
