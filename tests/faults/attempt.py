"""What one try of a fault came to, and the line of the table that its tries make."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Try:
    """One try. `problem` is why the study did not survive it; "" if it did.

    `lost` and `doubled` count records; the rest is what was still there afterwards.
    """

    problem: str = ""
    lost: int = 0
    doubled: int = 0
    processes: int = 0
    files: int = 0
    ports: int = 0

    @property
    def is_clean(self) -> bool:
        """Whether nothing at all went wrong."""
        return self == Try()


class NotHereError(Exception):
    """This machine does not permit the fault; the message says what is missing."""


type Fault = Callable[[Path], Iterator[Try]]  # gets an empty folder

COUNTED = ("lost", "doubled", "processes", "files", "ports")


@dataclass(frozen=True)
class Row:
    """All tries of one fault. `missing` is why there were none, if this machine forbids it."""

    fault: str
    tries: Sequence[Try]
    took_s: float
    missing: str = ""

    @property
    def failed(self) -> bool:
        """Whether the fault did harm, or was not tried although it could have been."""
        if self.missing:
            return False
        return not self.tries or not all(each.is_clean for each in self.tries)

    @property
    def cells(self) -> list[str]:
        """The texts of its line in the table."""
        if self.missing:
            return [self.fault, "not tried", *[""] * (1 + len(COUNTED)), f"{self.took_s:.0f} s"]
        survived = sum(not each.problem for each in self.tries)
        sums = (sum(getattr(each, name) for each in self.tries) for name in COUNTED)
        return [
            self.fault,
            str(len(self.tries)),
            str(survived),
            *map(str, sums),
            f"{self.took_s:.0f} s",
        ]

    @property
    def notes(self) -> list[str]:
        """What went wrong, each kind once."""
        found = dict.fromkeys(each.problem for each in self.tries if each.problem)
        return [self.missing, *found] if self.missing else list(found)
