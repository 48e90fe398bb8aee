"""The package indexes that requirements files name, which win over pip's settings."""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from scaling.builds.lock import is_lock
from scaling.builds.uv_tool import PASSED_ON

OPTION = re.compile(r"\s*(-i|-f|--index-url|--extra-index-url|--find-links|--no-index)\b[ =]*(\S*)")
NESTED = re.compile(r"\s*(?:-r|--requirement)[ =]*(\S+)")
FOLDERS = ("-f", "--find-links")
MAIN = ("-i", "--index-url")


def index_options(file: Path) -> Iterator[str]:
    """The options about package indexes in a requirements file, and in files that it includes."""
    if is_lock(file) or file.suffix == ".toml" or not file.is_file():
        return
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
        if nested := NESTED.match(line):
            yield from index_options(file.parent / nested[1])
        elif found := OPTION.match(line):
            option, value = found.groups()
            is_folder = option in FOLDERS and "://" not in value
            yield f"{option} {file.absolute().parent / value if is_folder else value}"


def variables_for(options: Iterable[str]) -> dict[str, str]:
    """Variables for uv with which an index in a file wins over pip's settings, as in pip.

    uv gets pip's settings as its own variables, which would win over a file.
    """
    main, names = any(each.split()[0] in MAIN for each in options), PASSED_ON["index-url"]
    return {names[0]: ""} if main and not any(map(os.environ.get, names)) else {}
