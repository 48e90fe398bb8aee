"""Free-threaded builds that are known to crash with several event loops.

Threads that make, cancel and close loops while the collector of another thread runs crash on 3.14
before 3.14.7. Whether 3.13 does is not known: it is taken to.
"""

from __future__ import annotations

from packaging.version import InvalidVersion

from scaling.builds.interpreters.find import version_key

SOUND_SINCE = "3.14.7"
ISSUE = "cpython#153809"


def may_crash(version: str, *, free_threaded: bool) -> bool:
    """Whether a build of `version`, such as `3.14.6`, is one of those."""
    try:
        return free_threaded and version_key(version) < version_key(SOUND_SINCE)
    except InvalidVersion:
        return False
