"""Errors for users: one or two lines, never a traceback.

A message says what happened, why, and what to do about it. The command line and the nox sessions
print `str(error)` and exit with `error.exit_code`.
"""

from __future__ import annotations

from typing import ClassVar

INTERRUPTED = 128 + 2  # the exit code of what SIGINT (Ctrl-C) ends, as shells have it


class ScalingError(Exception):
    """An expected failure; the message is for the user."""

    exit_code: ClassVar[int] = 1


class UsageError(ScalingError):
    """Wrong input: an unknown name, a wrong value, a file that does not fit."""

    exit_code: ClassVar[int] = 2
