"""Files beside a journal: what was found out and is no run of the study. They are published.

The check of an application. `hosts.json`, in the folder above those of the hosts, is not published.
"""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from scaling.journal.protected_write import write_text
from scaling.journal.reading import has_run, journal_in


@dataclass(frozen=True)
class FileBeside[T]:
    """A file beside a journal: its name, the `kind` of what it has, what is read without it, and
    the command that writes it `again`.
    """

    name: str
    kind: Any
    absent: Callable[[], T]
    again: str

    def write(self, folder: Path, value: T) -> None:
        """Write it beside the journal in this folder.

        Raises:
            UsageError: that place cannot be written.
            ScalingError: it could, but the disk is full or fails.
        """
        text = msgspec.json.format(msgspec.json.encode(value)).decode()
        write_text(folder / self.name, text, self.again)

    def read(self, folder: Path) -> T:
        """What it has; what `absent` returns where there is no such file, or it cannot be read."""
        try:
            return self._decoded(folder)
        except (OSError, msgspec.DecodeError):
            return self.absent()

    def _decoded(self, folder: Path) -> T:
        found: T = msgspec.json.decode((folder / self.name).read_bytes(), type=self.kind)
        return found

    def beside(self, journal: Path | None) -> T:
        """What it has beside a journal; what `absent` returns where that is in no file."""
        return self.absent() if journal is None else self.read(journal.parent)


type Kind = Literal[
    "other-loop",
    "state-overwritten",
    "middleware-built-twice",
    "one-loop-only",
    "one-thread-for-all",
    "context-inherited",
    "built-lazily",
    "mixed-up",
    "gil-enabled",
    "signals-in-thread",
    "failed-to-start",
    "crashed",
    "no-answer",
    "error",
    "differs",
]

KINDS: tuple[Kind, ...] = get_args(Kind.__value__)


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong. `request` is the first one it shows in; "" if it is not of one."""

    kind: Kind
    request: str
    message: str
    remedy: str


class AppCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a check; as JSON it is what `scaling app --check --json` prints."""

    ok: bool
    findings: list[Finding]


CHECK_FILE = FileBeside[AppCheck | None]("check.json", AppCheck, lambda: None, "scaling app")


NAMES = (CHECK_FILE.name,)


# -------------------------------------------------------------------------------------------- hosts
# What is known of the hosts of a study on several: a file in the folder that has theirs.
#
# RESULTS/hosts.json, RESULTS/host-1/journal.jsonl, RESULTS/host-2/journal.jsonl, …
#
# Hosts have labels here, no addresses.

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


HOSTS_FILE = FileBeside[Hosts | None]("hosts.json", Hosts, lambda: None, "scaling run")


def folders_of(folder: Path) -> list[Path]:
    """The folders of its hosts that have measured a run, by name; empty where it is no such folder.

    A host that failed before its first run leaves a journal without one.

    Raises:
        UsageError: a journal cannot be read.
    """
    if HOSTS_FILE.read(folder) is None:
        return []
    journals = {each: journal_in(each) for each in folder.iterdir() if each.is_dir()}
    return sorted(each for each, journal in journals.items() if journal and has_run(journal))
