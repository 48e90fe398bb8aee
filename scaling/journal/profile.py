"""Profiles of a study's cells: a file beside the journal, which never has profiled runs itself."""

from pathlib import Path
from typing import Literal

import msgspec

from scaling.journal.beside import PROFILE, read_beside, write_beside
from scaling.journal.record import Cell

type Kind = Literal["native", "kernel", "python", "python_total", "blocked"]


class FunctionGain(msgspec.Struct, frozen=True, kw_only=True):
    """What a function costs at N = 1 and at N, in ns per operation, and what it gained.

    Means over the pairs of runs; `low` and `high` are the 95 % interval of the gain. The CPU time
    of a `native` or `kernel` function and of one in `python` is its own. That of `python_total`
    includes what it calls directly in Python: it ends where C calls Python (a callback). `blocked`
    is a stack, innermost function first, and the time for which it waited for a lock. `meaning`
    explains a known name.
    """

    kind: Kind
    function: str
    at_1_ns: float
    at_n_ns: float
    gained_ns: float
    low: float
    high: float
    meaning: str | None = None


class ProfilePart(msgspec.Struct, frozen=True, kw_only=True):
    """One way of looking at a profile: the functions that gained or lost time beyond chance.

    `rest` is the sum of all `others` functions, `total` that of all; both None where the functions
    contain each other, so that they do not add up.
    """

    title: str
    functions: list[FunctionGain]
    others: int
    rest: FunctionGain | None = None
    total: FunctionGain | None = None


class ProfiledRun(msgspec.Struct, frozen=True, kw_only=True):
    """One profiled run: its pair, its N, what an operation took of CPU time and of workers' time.

    `cpu_samples` and `stack_samples` are how many samples its shares are made of.
    """

    pair: int
    workers: int
    throughput_per_s: float
    cpu_ns_per_op: float
    worker_ns_per_op: float
    cpu_samples: int
    stack_samples: int


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """The differential profile of one cell: N workers against one.

    `speed` is the throughput of the profiled runs at N over that of the study's own, which shows
    what profiling costs. `notes` say what could not be seen, and what would permit it.
    """

    cell: Cell
    text: str
    operation: str
    runs: list[ProfiledRun]
    parts: list[ProfilePart]
    speed: float | None = None
    notes: list[str] = []


def write_profile(folder: Path, profile: Profile) -> None:
    """Write it beside the journal; an earlier one of the same cell is replaced.

    Raises:
        OSError: the file cannot be written.
    """
    others = [each for each in read_profiles(folder) if each.cell != profile.cell]
    write_beside(folder, PROFILE, [*others, profile])


def read_profiles(folder: Path) -> list[Profile]:
    """Those of a study; none where none were made, or the file cannot be read."""
    return read_beside(folder, PROFILE, list[Profile]) or []
