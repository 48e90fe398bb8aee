"""Why an application breaks on several loops, from the words of its exceptions: one entry each."""

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from scaling.journal.beside import Kind


@dataclass(frozen=True)
class Cause:
    """A kind of fault: `words` are a pattern for exceptions that only it raises, if any are."""

    kind: Kind
    remedy: str
    words: str | None = None


# The first whose words match is the cause, so the more special ones come first.
CAUSES = (
    Cause(
        "one-loop-only",
        "give a function that makes one Application for each loop, with --factory",
        r"one aiohttp Application|web\.Application instance initialized with different loop"
        r"|Application.*different loop",
    ),
    Cause(
        "signals-in-thread",
        "leave signals to the server, or set handlers only in the main thread "
        "(threading.current_thread() is threading.main_thread())",
        r"only works in main thread|(from|in) the main thread",
    ),
    Cause(
        "other-loop",
        "make the pool, client, lock, queue or event inside the lifespan, one for each loop, and "
        "keep it in the lifespan's state or in an application made by a factory (--factory)",
        r"attached to a different loop|bound to a different event loop"
        r"|on an event loop other than the current one"
        r"|another operation is in progress",  # asyncpg's pool does not look at its loop
    ),
    Cause(
        "state-overwritten",
        "yield the value from the lifespan (request.state has it, one for each loop), or make an "
        "application for each loop, with --factory",
    ),
    Cause(
        "middleware-built-twice",
        "make an application for each loop, with --factory, or keep the state outside the "
        "middleware and guard it with a lock",
    ),
    Cause(
        "one-thread-for-all",
        "call sync_to_async with thread_sensitive=False, or run the code inside a "
        "ThreadSensitiveContext for each request",
    ),
    Cause(
        "context-inherited",
        "set the ContextVar or asgiref.local.Local anew for each request, and change no object "
        "that it holds; or start Python with -X thread_inherit_context=0",
    ),
    Cause(
        "built-lazily",
        "build it when the application is imported or started, or guard the first use with a lock",
    ),
    Cause(
        "mixed-up",
        "keep what belongs to a request in a ContextVar or in request.state, never in a global; "
        "what must be global needs a lock",
    ),
    Cause(
        "gil-enabled",
        "use a release of the package with free-threaded wheels, or replace it: until then "
        "threads run one at a time",
    ),
    Cause(
        "failed-to-start",
        "bind no port in the application: each of its loops or processes would need another",
        r"Address already in use",
    ),
    Cause(
        "failed-to-start",
        "start it as several loops in threads of one process, and see which line raises this",
    ),
    Cause(
        "crashed",
        "look for extension modules without support of free-threaded Python; the last lines are "
        "on standard error of the run",
    ),
    Cause(
        "no-answer",
        "look for a lock that is held while another loop waits for it, and for an event or future "
        "that is set from another loop without call_soon_threadsafe",
    ),
    Cause(
        "error",
        "look at what the code that raises this shares between threads: each loop needs its own, "
        "or a lock",
    ),
    Cause(
        "differs",
        "look for state that belongs to one worker and is expected by all: keep it in a database, "
        "or in one object with a lock",
    ),
)

BY_KIND = {each.kind: each for each in CAUSES}


def cause_of(words: str) -> Cause | None:
    """The cause that an exception's words give; None if they could be of any."""
    for each in CAUSES:
        if each.words and re.search(each.words, words):
            return each
    return None


# --------------------------------------------------------------------------------------- exceptions
# Exceptions in what a run wrote: their words, and the line of the user's code that they are from.
#
# Paths are shortened before (`scaling.run.redaction`): a library's file keeps its folder.

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
