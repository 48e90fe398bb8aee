"""Libraries that can be loaded into a child before the C library: where this machine has them."""

from functools import cache
from pathlib import Path

# Where distributions put libraries: Debian's multiarch folders, then those of others.
FOLDERS = ("/usr/lib/*-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib")


@cache
def library_path(name: str) -> Path | None:
    """The library of that file name; None where it is not installed."""
    root = Path("/")
    found = (path for folder in FOLDERS for path in root.glob(f"{folder[1:]}/{name}"))
    return next(found, None)
