"""Single files of CPython's source, from the tarball that `SCALING_CPYTHON_SOURCE` names."""

import os
import tarfile
from pathlib import Path

from scaling.builds.interpreters.source import SHA256, file_name


def tarball() -> Path | None:
    """That of the newest version that there is."""
    named = os.environ.get("SCALING_CPYTHON_SOURCE")
    if not named:
        return None
    path = Path(named)
    candidates = [path / file_name(version) for version in reversed(SHA256)]
    return next(filter(Path.is_file, candidates if path.is_dir() else [path]), None)


def is_there() -> bool:
    return tarball() is not None


def extracted(member: str, folder: Path) -> Path:
    """Write one file of the source to `folder`."""
    source = tarball()
    assert source is not None
    with tarfile.open(source) as archive:
        for each in archive:  # its members are read in order, and no further than needed
            if each.name.partition("/")[2] == member:
                archive.extract(each, folder, filter="data")
                return folder / each.name
    raise AssertionError(f"{source.name} has no {member}")
