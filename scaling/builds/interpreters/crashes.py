"""Free-threaded builds that are known to crash with several event loops.

On 3.14 before 3.14.7, threads that make, cancel and close loops may crash while the collector runs
in another thread. Whether that is so on 3.13 is not known; here it counts as one of these builds.
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
