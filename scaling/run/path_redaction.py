"""What a child said, without the paths of this machine: people publish their journals."""

import contextlib
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path

CHARACTER = rb'(?:[^"\\\n]|\\u[0-9a-fA-F]{4})'  # of a path, as it is or as JSON escapes it
NAMED_FILES = (
    # As tracebacks and `faulthandler` name a file; inside a record the quotation mark is escaped.
    re.compile(rb'(file \\?")(/' + CHARACTER + rb"+)", re.IGNORECASE),
    # As a warning does, which begins a line; and an ImportError, in parentheses.
    re.compile(rb"(^|\\n)(/[^:\"\n]+)(?=:\d+: )", re.MULTILINE),
    re.compile(rb"(\()(/" + CHARACTER + rb"+?\.(?:py|pyc|so))(?=\))"),
)
LIBRARY = re.compile(rb".*/(?:site-packages|dist-packages|python3\.\d+t?)/")
BEFORE = rb"(?:(?<![\w.~/-])|(?<=\\n))"  # a path begins here; JSON may write a line's end as \n
AFTER = rb"(/+|(?![\w-]))"


def without_paths(said: bytes, folders: Iterable[str]) -> bytes:
    """Shorten the paths of files below any of `folders`, and those that Python itself names.

    What is below a folder of packages stays, of any other file its name, and of the user's own
    folder `~`.
    """
    for pattern in NAMED_FILES:
        said = pattern.sub(lambda found: found[1] + _shortened(found[2]), said)
    marks = {each.rstrip("/"): b"" for each in folders if Path(each).is_absolute()}
    with contextlib.suppress(RuntimeError):  # a user without a folder
        marks[str(Path.home()).rstrip("/")] = b"~"
    for folder in sorted(filter(None, marks), key=len, reverse=True):
        said = _replaced(said, folder, marks[folder])
    return said


def _replaced(said: bytes, folder: str, mark: bytes) -> bytes:
    """Put `mark` in a folder's place, as it is written and as JSON escapes it."""

    def shown(found: re.Match[bytes]) -> bytes:
        if not found[1]:
            return mark or b"."
        return mark + b"/" if mark else b""

    for written in {os.fsencode(folder), json.dumps(folder)[1:-1].encode()}:
        if written in said:
            said = re.sub(BEFORE + re.escape(written) + AFTER, shown, said)
    return said


def _shortened(path: bytes) -> bytes:
    below = LIBRARY.sub(b"", path)
    return below if below != path else path.rpartition(b"/")[2]
