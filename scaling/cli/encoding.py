"""Letters that a terminal's encoding does not have, told by those that every terminal has.

A pipe can be ASCII, an old terminal Latin-1. One character stands for one, so that tables keep
their columns; what is not in the list becomes a question mark.
"""

import codecs
import sys
from io import TextIOWrapper

ALIKE = {
    **dict.fromkeys("·–—−─", "-"),
    **dict.fromkeys("’‘", "'"),
    **dict.fromkeys("█■", "#"),
    **dict.fromkeys("┃│▏", "|"),
    "×": "x",
    "÷": "/",
    "±": "~",
    "≈": "~",
    "…": ".",
    "→": ">",
    "≤": "<",
    "≥": ">",
    "µ": "u",
    "░": "-",
    "²": "2",
}
HANDLER = "scaling.alike"


def _alike(error: UnicodeError) -> tuple[str, int]:
    """What is written in place of characters that cannot be encoded."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(ALIKE.get(letter, "?") for letter in missing), error.end


def print_in_any_encoding() -> None:
    """Make standard output and standard error take every text, whatever their encoding."""
    codecs.register_error(HANDLER, _alike)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=HANDLER)
