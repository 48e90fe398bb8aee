"""What a user is told when something cannot be done: one or two lines, never a traceback.

A message says what happened, why, and what to do about it. Whoever meets the user (the command
line, a nox session) prints `str(error)` and exits with `error.exit_code`.
"""

from __future__ import annotations

from typing import ClassVar


class ScalingError(Exception):
    """Something that we foresaw went wrong; the message is meant for the user."""

    exit_code: ClassVar[int] = 1


class UsageError(ScalingError):
    """What was asked for cannot be: an unknown name, a wrong value, a file that does not fit."""

    exit_code: ClassVar[int] = 2
