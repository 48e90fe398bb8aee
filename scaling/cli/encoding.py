"""Characters that the encoding of a terminal does not have, replaced by ASCII.

A pipe can be ASCII, an old terminal Latin-1. Each character has one replacement character, so that
tables keep their columns; a character that is not in the list becomes a question mark.
"""

import codecs
import sys
from io import TextIOWrapper

REPLACEMENTS = {
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
HANDLER = "scaling.ascii"


def _replaced(error: UnicodeError) -> tuple[str, int]:
    """What is written in place of characters that cannot be encoded."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(REPLACEMENTS.get(letter, "?") for letter in missing), error.end


def print_in_any_encoding() -> None:
    """Let standard output and standard error take every text, whatever their encoding."""
    codecs.register_error(HANDLER, _replaced)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=HANDLER)
