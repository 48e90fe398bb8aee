"""Programs, servers and libraries that are installed on this machine, beside Python packages.

Plans and arms look here and nowhere else, so that a test can plan for another machine.
"""

import os
from functools import cache
from pathlib import Path

SBIN = ("/usr/local/sbin", "/usr/sbin", "/sbin")  # of servers; not on every user's PATH
# Where distributions put libraries: Debian's multiarch folders, then those of others.
FOLDERS = ("/usr/lib/*-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib")

POSTGRES = "SCALING_POSTGRES"
"""The variable with the URL of PostgreSQL: a user's, and for pgbouncer that of the study."""

VALKEY = "SCALING_VALKEY"
"""The variable with the URL of a user's Valkey."""

URLS = (POSTGRES, VALKEY)


def program(name: str) -> str | None:
    """The path of a program on PATH or in `SBIN`, or None."""
    import shutil  # `--help` needs the names above alone

    return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", os.defpath), *SBIN]))


@cache
def library(name: str) -> Path | None:
    """The path of a library by its file name, or None."""
    root = Path("/")
    found = (path for folder in FOLDERS for path in root.glob(f"{folder[1:]}/{name}"))
    return next(found, None)
