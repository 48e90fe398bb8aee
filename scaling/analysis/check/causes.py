"""Causes of faults on several loops, some of which exceptions name: one entry each."""

import re
from dataclasses import dataclass

from scaling.journal.check_file import Kind


@dataclass(frozen=True)
class Cause:
    """A kind of fault. `words` is a pattern of exceptions that only this fault raises, or None.

    `remedy` is the advice for an application object, `of_factory` that for a factory,
    `of_processes` that for a fault in processes.
    """

    kind: Kind
    remedy: str
    words: str | None = None
    of_factory: str = ""
    of_processes: str = ""

    def what_to_do(self, model: str = "threads", *, factory: bool = False) -> str:
        """The remedy for a model, with or without `--factory`."""
        if model != "threads":
            return self.of_processes or self.remedy
        return self.of_factory if factory and self.of_factory else self.remedy


# The first whose words match is the cause, so the more special ones come first.
CAUSES = (
    Cause(
        "state-in-process",
        "Threads keep it; processes need a database, or sticky connections",
    ),
    Cause(
        "one-loop-only",
        "give a function that makes one Application for each loop, with --factory",
        r"one aiohttp Application|web\.Application instance initialized with different loop"
        r"|Application.*different loop",
        "make the Application inside the factory",
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
        "make the pool, client, lock, queue or event inside the factory or the lifespan, not when "
        "the module is imported",
    ),
    Cause(
        "state-overwritten",
        "yield the value from the lifespan (request.state has it, one for each loop), or make an "
        "application for each loop, with --factory",
        of_factory="make the application inside the factory: each loop needs one of its own",
    ),
    Cause(
        "middleware-built-twice",
        "make an application for each loop, with --factory, or keep the state outside the "
        "middleware and guard it with a lock",
        of_factory="make the application inside the factory: each loop needs one of its own",
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
        "each loop starts it: if a function makes it, name that with --factory; else see which "
        "line raises this",
        of_factory="make all that it starts inside the factory: what the module makes when it is "
        "imported is there once, for all loops",
        of_processes="each process starts it: see which line raises this, and what only one "
        "process can have",
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
        of_processes="look for a file or database that one process locks and another waits for",
    ),
    Cause(
        "error",
        "look at what the code that raises this shares between threads: each loop needs its own, "
        "or a lock",
        of_processes="look at what the code that raises this shares between processes",
    ),
    Cause(
        "differs",
        "look for state that belongs to one worker and is expected by all: keep it in a database, "
        "or in one object with a lock",
    ),
    Cause(
        "runs-on-each-loop",
        "as it should be for what belongs to a loop; what must run once (a scheduler, a consumer) "
        "needs a process of its own, or a lock in a database. N processes start it N times, too",
    ),
)

BY_KIND = {each.kind: each for each in CAUSES}


def cause_of(words: str) -> Cause | None:
    """The cause whose pattern the words of an exception match, or None."""
    for each in CAUSES:
        if each.words and re.search(each.words, words):
            return each
    return None
