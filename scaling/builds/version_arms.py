"""The arms of one Python version, and the part that each plays in a comparison.

An arm is its build and its settings; what a comparison needs to know is which of them are rungs of
the ladder (`scaling.builds.settings.ladder`), which have the GIL, and which one does not.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from scaling.builds.runtimes.known import RUNTIMES

# What is added to a version at each rung, and what changes on the way to it from the one before.
RUNGS = (("", ""), ("+mimalloc", "allocator"), ("t+gil", "build"), ("t", "GIL"))

VERSION = re.compile(r"3\.(\d+)")  # not another runtime


@dataclass(frozen=True, slots=True)
class VersionArms:
    """One Python version, such as `3.14`; its arms are named after it, measured or not."""

    version: str

    @property
    def rungs(self) -> tuple[str, ...]:
        """The arms of the ladder, from the bottom."""
        return tuple(self.version + added for added, _ in RUNGS)

    @property
    def with_gil(self) -> tuple[str, str]:
        """The arms that people run today; the better of them is the baseline."""
        return self.version, f"{self.version}+mimalloc"

    @property
    def free(self) -> str:
        """The arm without the GIL."""
        return f"{self.version}t"

    @property
    def challengers(self) -> list[tuple[str, str]]:
        """Arm and model of what is compared with processes: threads without the GIL, interpreters
        on every rung.
        """
        return [(self.free, "threads"), *((arm, "interpreters") for arm in self.rungs)]

    def changes(self, before: str, after: str) -> str:
        """What differs between two rungs: `allocator`, `allocator and build`."""
        first, last = self.rungs.index(before), self.rungs.index(after)
        *others, name = [change for _, change in RUNGS[first + 1 : last + 1]]
        return f"{', '.join(others)} and {name}" if others else name


def version_arms(arms: Iterable[str]) -> list[VersionArms]:
    """The versions that the arms belong to, in order of appearance.

    Arms beside the ladder (`+nogc`) stand for no version of their own, nor do other runtimes.
    """
    measured = [arm for arm in arms if arm not in RUNTIMES]
    versions = [VersionArms(arm.partition("+")[0].removesuffix("t")) for arm in measured]
    rungs = {rung: each for each in versions for rung in each.rungs}
    return list(dict.fromkeys(rungs[arm] for arm in measured if arm in rungs))


def rising(versions: Iterable[str]) -> list[str]:
    """The versions of Python among these, each once, the oldest first."""
    found = {int(match[1]): match[0] for match in map(VERSION.fullmatch, versions) if match}
    return [name for _, name in sorted(found.items())]


def free_arms(arms: Iterable[str]) -> list[str]:
    """The arms without the GIL that the versions of these arms have, measured or not."""
    return [version.free for version in version_arms(arms)]
