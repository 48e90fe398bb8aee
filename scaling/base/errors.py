"""Errors for users: one or two lines, never a traceback.

A message says what happened, why, and what to do about it. The command line and the nox sessions
print `str(error)` and exit with `error.exit_code`.
"""

from __future__ import annotations

import difflib
import errno
from collections.abc import Iterable
from typing import ClassVar

# Exit codes after SIGINT (Ctrl-C) and SIGPIPE (the reader has gone), as in shells.
INTERRUPTED, BROKEN_PIPE = 128 + 2, 128 + 13
# Errors of a full or failing disk.
OF_THE_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EIO)


class ScalingError(Exception):
    """An expected failure; the message is for the user."""

    exit_code: ClassVar[int] = 1


class UsageError(ScalingError):
    """Wrong input: an unknown name, a wrong value, a file that does not fit."""

    exit_code: ClassVar[int] = 2


# ------------------------------------------------------------------------------------------ suggest
# An error about an unknown name suggests the nearest known one.

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
