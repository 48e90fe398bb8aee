"""What a child said, without the paths of this machine: people publish their journals."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

# As tracebacks and `faulthandler` name a file; inside a record the quotation mark is escaped.
NAMED_FILE = re.compile(rb'(file \\?")(/[^"\\\n]+)', re.IGNORECASE)
LIBRARY = re.compile(rb".*/(?:site-packages|dist-packages|python3\.\d+t?)/")


def without_paths(said: bytes, environment: Mapping[str, str]) -> bytes:
    """Shorten the paths of files below the child's PYTHONPATH, and those that stacks name.

    What is below a folder of packages stays, of any other file its name, and of the user's own
    folder `~`.
    """
    for folder in environment.get("PYTHONPATH", "").split(os.pathsep):
        if len(folder) > 1:
            said = said.replace(os.fsencode(folder.rstrip("/")) + b"/", b"")
    said = NAMED_FILE.sub(lambda found: found[1] + _shortened(found[2]), said)
    try:
        home = os.fsencode(Path.home())
    except RuntimeError:  # a user without one
        return said
    return said.replace(home + b"/", b"~/") if len(home) > 1 else said


def _shortened(path: bytes) -> bytes:
    below = LIBRARY.sub(b"", path)
    return below if below != path else path.rpartition(b"/")[2]
