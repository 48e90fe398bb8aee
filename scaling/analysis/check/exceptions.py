"""Exceptions in the output of a run: their words, and the line of user code that raised them.

Paths are shortened before (`scaling.run.redaction`): a library's file keeps its folder, one of ours
that of `workers`. Exceptions of this project's own code are no fault of an application.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

PREFIX = re.compile(r"^[ |+-]*\| ?")  # of exceptions in a group
PLACE = re.compile(r'^\s*File "([^"]+)", line (\d+)')
OURS = "workers/"  # the folder of our files
THREAD = re.compile(r"^(?:Current thread|Thread) 0x", re.MULTILINE)  # before a stack
WAITS = "workers/channel.py"  # in a stack of host or worker that waits for the other
FATAL = "Fatal Python error: "
RAISED = re.compile(r"^[A-Za-z_][\w.]*(?::\s|$)")


@dataclass(frozen=True)
class Raised:
    """An exception: its words, the innermost line of user code (`place`), `is_ours` for our own."""

    words: str
    place: str = ""
    is_ours: bool = False

    def __str__(self) -> str:
        """`ValueError: no (shop.py, line 12)`."""
        return f"{self.words}{self.place}"


def raised(text: str) -> Iterator[Raised]:
    """Each exception of the tracebacks in `text`."""
    place, is_ours, inside = "", False, False
    for each in text.splitlines():
        line = PREFIX.sub("", each)
        if line.startswith("Traceback ("):
            place, is_ours, inside = "", False, True
        elif not inside:
            continue
        elif found := PLACE.match(line):
            place = _in_words(found) or place
            if not _is_of_python(found[1]):
                is_ours = found[1].startswith(OURS)
        elif RAISED.match(line):
            inside = False
            yield Raised(line.strip(), place, is_ours)


def exceptions_of(text: str, failure: str, samples: Iterable[str]) -> list[str]:
    """Words of the exceptions of one run, each once: those of `text`, which have a place, first.

    `failure` is the error that ended the run, `samples` are words without a place. Exceptions of
    our own code are left out.
    """
    found = list(raised(text))
    theirs = [str(each) for each in found if not each.is_ours]
    known = {each.words for each in found}
    others = [each for each in samples if RAISED.match(each) and each.strip() not in known]
    ended = [failure] if failure and failure not in known else []
    return list(dict.fromkeys([*theirs, *ended, *others]))


def fatal(text: str) -> str:
    """The message of `faulthandler` for a crash; empty without one.

    Where two threads crash at once, the process may end before all is written.
    """
    words, *stack = text.partition(FATAL)[2].splitlines() or [""]
    return f"{words}{_first_place(stack)}"


def stuck(text: str) -> str:
    """The line of user code, in brackets, in which a run hung, from its stacks; empty if none."""
    stacks = [each for each in THREAD.split(text) if WAITS not in each]
    return next(filter(None, (_first_place(each.splitlines()) for each in stacks)), "")


def _first_place(stack: Iterable[str]) -> str:
    places = (_in_words(place) for place in map(PLACE.match, stack) if place)
    return next(filter(None, places), "")


def _in_words(found: re.Match[str]) -> str:
    """The place of a line of a stack in user code; empty for other code."""
    return f" ({found[1]}, line {found[2]})" if _is_the_users(found[1]) else ""


def _is_the_users(file: str) -> bool:
    """A file without a folder that is not Python's; code made at run time (`<string>`) is none."""
    return "/" not in file and not file.startswith("<") and not _is_of_python(file)


def _is_of_python(file: str) -> bool:
    """Return whether a file is of the standard library, by the known names of its modules."""
    return file.partition("/")[0].removesuffix(".py") in sys.stdlib_module_names
