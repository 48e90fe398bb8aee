"""Unknown names: the error suggests the nearest known one."""

import difflib
from collections.abc import Iterable

from scaling.base.errors import UsageError

# Lowest ratio of difflib for a suggestion: "ehco" has 0.75 to "echo", "sleep" 0.4 to "compute".
LIKENESS = 0.55


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most like `name`, ignoring case; None if none is near."""
    spelled = {each.casefold(): each for each in known}
    close = difflib.get_close_matches(name.casefold(), spelled, n=1, cutoff=LIKENESS)
    return spelled[close[0]] if close else None


def unknown(what: str, name: str, known: Iterable[str], *, where: str = "") -> UsageError:
    """The error for an unknown name; `where` is the flag or the key of the file it came from.

    `what` is the kind of name ("workload", "loop", "key").
    """
    names = list(dict.fromkeys(known))
    suggestion = nearest(name, names)
    meant = f" Did you mean {suggestion!r}?" if suggestion else ""
    there_are = f" There are: {', '.join(names)}." if names else " There are none."
    prefix = f"{where}: " if where else ""
    return UsageError(f"{prefix}unknown {what} {name!r}.{meant}{there_are}")
