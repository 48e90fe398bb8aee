"""Whether a text that is to be published names a machine, or where somebody keeps files on it.

Runs are written down without such names in the first place (`scaling.run.path_redaction`); what a
user's own workload says of itself may still hold one.
"""

import contextlib
import platform
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

# Folders that are somebody's own. (/usr, /proc and the like are everybody's, and reveal nothing.)
OWN = "home|root|Users|tmp|private|var|opt|srv|mnt|media|work|workspace|data"
# What may be before a path, looked for behind its /. JSON may write the end of a line as \n.
BEGINS = r"(?:(?<![\w.~:/-]/)|(?<=\\n/)|(?<=\\t/))"
# What a text must hold, and the pattern that is looked for where it does. One that began with
# something else than a letter of its own would take a second for 16 MB, not 20 ms.
PATHS = {
    "/": rf"/{BEGINS}(?:{OWN})/[\w.+-]+",
    "Users\\": r"\b[A-Za-z]:\\+Users\\+[\w.+-]+",
}
EVERYBODYS = ("", "localhost")  # names that no machine is known by


class Name(NamedTuple):
    """A name, and the line from 1 on that holds it."""

    line: int
    text: str


def names_in(text: str) -> Iterator[Name]:
    """Absolute paths in a text, the user's own folder and the name of this machine."""
    ours = {each: rf"(?<![\w-]){re.escape(each)}(?![\w-])" for each in _ours()}
    patterns = [pattern for held, pattern in (PATHS | ours).items() if held in text]
    found = [each for pattern in patterns for each in re.finditer(pattern, text)]
    for each in sorted(found, key=re.Match.start):
        yield Name(text.count("\n", 0, each.start()) + 1, each[0])


def _ours() -> Iterator[str]:
    if platform.node() not in EVERYBODYS:
        yield platform.node()
    with contextlib.suppress(RuntimeError):  # a user without a folder
        if str(home := Path.home()) != home.anchor:
            yield str(home)
