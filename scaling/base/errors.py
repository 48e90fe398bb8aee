"""Errors for users: one or two lines, never a traceback.

A message says what happened, why, and what to do about it. The command line and the nox sessions
print `str(error)` and exit with `error.exit_code`.
"""

from __future__ import annotations

import errno
from typing import ClassVar

# The exit codes of what SIGINT (Ctrl-C) and SIGPIPE (its reader is gone) end, as shells have them.
INTERRUPTED, BROKEN_PIPE = 128 + 2, 128 + 13
# What a disk refuses because it is full or fails, wherever on it one writes.
OF_THE_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EIO)


class ScalingError(Exception):
    """An expected failure; the message is for the user."""

    exit_code: ClassVar[int] = 1


class UsageError(ScalingError):
    """Wrong input: an unknown name, a wrong value, a file that does not fit."""

    exit_code: ClassVar[int] = 2
