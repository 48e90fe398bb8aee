"""Exceptions in what a run wrote: their words, and the line of the user's code that they are from.

Paths are shortened before (`scaling.run.path_redaction`): a library's file keeps its folder.
"""

import re
import sys
from collections.abc import Iterable, Iterator

PREFIX = re.compile(r"^[ |+-]*\| ?")  # of exceptions in a group
PLACE = re.compile(r'^\s*File "([^"]+)", line (\d+)')
OURS = ("on_aiohttp.py", "on_uvicorn.py", "wsgi_on_loop.py")
THREAD = re.compile(r"^(?:Current thread|Thread) 0x", re.MULTILINE)  # before a stack
WAITS = "channel.py"  # in a stack of host or worker that waits for the other
FATAL = "Fatal Python error: "
RAISED = re.compile(r"^[A-Za-z_][\w.]*(?::\s|$)")


def raised(text: str) -> Iterator[str]:
    """Each exception of the tracebacks in `text`, as in `ValueError: no (shop.py, line 12)`."""
    place = ""
    inside = False
    for each in text.splitlines():
        line = PREFIX.sub("", each)
        if line.startswith("Traceback ("):
            place, inside = "", True
        elif not inside:
            continue
        elif found := PLACE.match(line):
            place = _in_words(found) or place
        elif RAISED.match(line):
            inside = False
            yield f"{line.strip()}{place}"


def fatal(text: str) -> str:
    """What `faulthandler` wrote when the process crashed; empty if it wrote nothing.

    Where two threads crash at once, the process may end before all is written.
    """
    words, *stack = text.partition(FATAL)[2].splitlines() or [""]
    return f"{words}{_first_place(stack)}"


def stuck(text: str) -> str:
    """The line of the user's code, in brackets, in which a run hung that was asked for its stacks;
    empty if none is in them.
    """
    stacks = [each for each in THREAD.split(text) if WAITS not in each]
    return next(filter(None, (_first_place(each.splitlines()) for each in stacks)), "")


def _first_place(stack: Iterable[str]) -> str:
    places = (_in_words(place) for place in map(PLACE.match, stack) if place)
    return next(filter(None, places), "")


def _in_words(found: re.Match[str]) -> str:
    """The place of a line of a stack, if it is in the user's code."""
    return f" ({found[1]}, line {found[2]})" if _is_the_users(found[1]) else ""


def _is_the_users(file: str) -> bool:
    known = file.removesuffix(".py") in sys.stdlib_module_names or file in OURS
    return "/" not in file and not known
