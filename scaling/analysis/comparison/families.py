"""The arms of one Python version, and the part that each plays in a comparison.

An arm is its build and its settings; what a comparison needs to know is which of them are rungs of
the ladder (DESIGN.md, Arms), which have the GIL, and which one is free of it.
"""

from collections.abc import Iterable
from dataclasses import dataclass

# What is added to a version at each rung, and what changes on the way to it from the one before.
RUNGS = (("", ""), ("+mimalloc", "allocator"), ("t+gil", "build"), ("t", "GIL"))


@dataclass(frozen=True, slots=True)
class Family:
    """One Python version, such as `3.14`; its arms are named after it, measured or not."""

    version: str

    @property
    def rungs(self) -> tuple[str, ...]:
        """The arms of the ladder, from the bottom."""
        return tuple(self.version + added for added, _ in RUNGS)

    @property
    def with_gil(self) -> tuple[str, str]:
        """The arms that people run today, the better of which is what others are held against."""
        return self.version, f"{self.version}+mimalloc"

    @property
    def free(self) -> str:
        """The arm without the GIL."""
        return f"{self.version}t"


def families(arms: Iterable[str]) -> list[Family]:
    """The families that the arms belong to, in order of appearance.

    Arms beside the ladder (`+nogc`) name no family of their own.
    """
    known = {rung: family for family in map(_family, arms) for rung in family.rungs}
    return list(dict.fromkeys(known[arm] for arm in arms if arm in known))


def changes(before: str, after: str, family: Family) -> str:
    """What differs between two rungs: `allocator`, `allocator and build`."""
    first, last = family.rungs.index(before), family.rungs.index(after)
    *others, name = [change for _, change in RUNGS[first + 1 : last + 1]]
    return f"{', '.join(others)} and {name}" if others else name


def _family(arm: str) -> Family:
    return Family(arm.partition("+")[0].removesuffix("t"))
