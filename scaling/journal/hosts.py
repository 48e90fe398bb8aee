"""What is known of the hosts of a study on several: a file in the folder that has theirs.

    RESULTS/hosts.json, RESULTS/host-1/journal.jsonl, RESULTS/host-2/journal.jsonl, …

Hosts have labels here, no addresses.
"""

import uuid
from pathlib import Path
from typing import Literal

import msgspec

from scaling.journal.beside import read_beside, write_beside
from scaling.journal.reading import journal_in

FILE_NAME = "hosts.json"

type State = Literal["complete", "interrupted", "lost", "failed", "absent", "different"]

IN_WORDS: dict[State, str] = {
    "complete": "complete",
    "interrupted": "interrupted by the user",
    "lost": "lost: the host ended, or was cut off",
    "failed": "failed on the host",
    "absent": "not reached",
    "different": "not the host that it was when the study began",
}


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """How far a host is: how many runs its journal has, of how many (None: not known yet)."""

    state: State
    runs: int = 0
    total: int | None = None

    def __str__(self) -> str:
        """`lost: the host ended, or was cut off; 7 of 16 runs`."""
        if self.state == "complete":
            return f"complete, {self.runs} runs"
        of = f" of {self.total}" if self.total is not None else ""
        return f"{IN_WORDS[self.state]}; {self.runs}{of} runs"


class Hosts(msgspec.Struct, kw_only=True):
    """The random id of a results folder, by which hosts know it, and their standings by label."""

    results: str = msgspec.field(default_factory=lambda: uuid.uuid4().hex)
    hosts: dict[str, Standing] = {}


def read_hosts(folder: Path) -> Hosts | None:
    """What the folder says of its hosts; None where it is no such folder."""
    return read_beside(folder, FILE_NAME, Hosts)


def write_hosts(folder: Path, hosts: Hosts) -> None:
    """Write it.

    Raises:
        OSError: it cannot be written.
    """
    write_beside(folder, FILE_NAME, hosts)


def folders_of(folder: Path) -> list[Path]:
    """The folders of its hosts that have a journal, by name; empty where it is no such folder."""
    if read_hosts(folder) is None:
        return []
    return sorted(each for each in folder.iterdir() if each.is_dir() and journal_in(each))
