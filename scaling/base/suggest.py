"""Names that users type: the nearest known one is suggested, in the same words everywhere."""

import difflib
from collections.abc import Iterable

from scaling.base.errors import UsageError

# difflib's ratio from which a suggestion helps more than it puzzles: "ehco" is 0.75 of "echo",
# "sleep" 0.4 of "compute".
LIKENESS = 0.55


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most like `name`, upper and lower case alike; None where none is near."""
    spelled = {each.casefold(): each for each in known}
    close = difflib.get_close_matches(name.casefold(), spelled, n=1, cutoff=LIKENESS)
    return spelled[close[0]] if close else None


def unknown(what: str, name: str, known: Iterable[str], *, where: str = "") -> UsageError:
    """The error for a name that nobody knows; `where` is the flag or the file's key it came from.

    `what` says what kind of name it is ("workload", "loop", "key").
    """
    names = list(known)
    suggestion = nearest(name, names)
    meant = f" Did you mean {suggestion!r}?" if suggestion else ""
    there_are = f" There are: {', '.join(names)}." if names else " There are none."
    prefix = f"{where}: " if where else ""
    return UsageError(f"{prefix}unknown {what} {name!r}.{meant}{there_are}")
