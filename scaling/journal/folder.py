"""Which folder a study is written to: a new one, or one whose study it resumes; and its hosts."""

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from scaling.journal.beside import FileBeside
from scaling.journal.file import FILE_NAME, JournalFile
from scaling.journal.identity import identity_of
from scaling.journal.reading import journal_in
from scaling.journal.record import StudyLine

PUBLISHED_NAME = f"{FILE_NAME}.gz"  # a published study is never written to


def published_in(folder: Path) -> Iterator[Path]:
    """The folders FOLDER/MACHINE/STUDY that hold a published study."""
    return (file.parent for file in folder.glob(f"*/*/{PUBLISHED_NAME}"))


@dataclass(frozen=True)
class Chosen:
    """An open journal; `notes` are messages that explain the choice."""

    journal: JournalFile
    resumed: bool
    notes: list[str]


def choose(
    output: Path,
    head: StudyLine,
    is_complete: Callable[[JournalFile], bool],
    begin: Callable[[StudyLine], StudyLine] = lambda head: head,
) -> Chosen:
    """Open the journal in `output`, or in `output`-2, -3, … if that holds something else.

    A journal is resumed if it is of the same study on the same machine with the same builds and
    pins, in the same order of runs, and not complete. A new one gets `head` as its first line, as
    `begin` completes it.

    Raises:
        UsageError: a folder that cannot be written, a journal of a newer schema, or one that is
            being written at this moment.
    """
    notes: list[str] = []
    folder, number = output, 1
    while isinstance(found := _opened(folder, head, is_complete), str):
        number += 1
        following = output.with_name(f"{output.name}-{number}")
        notes.append(f"{folder} is kept ({found}); writing to {following}")
        folder = following
    resumed = found.head is not None
    if not resumed:
        if found.torn_head:
            notes.append(f"{found.path}: its only line was cut off, nothing was measured; starting")
        try:
            found.append(begin(head))
        except BaseException:
            found.close()
            raise
    return Chosen(found, resumed, notes)


def _opened(
    folder: Path, head: StudyLine, is_complete: Callable[[JournalFile], bool]
) -> JournalFile | str:
    """The folder's journal, open, or the reason why it cannot be resumed."""
    if (folder / PUBLISHED_NAME).exists():
        return "it holds a published study"
    journal = JournalFile(folder / FILE_NAME)
    reason = _reason_against(journal, head, is_complete)
    if reason is None:
        return journal
    journal.close()
    return reason


def _reason_against(
    journal: JournalFile, head: StudyLine, is_complete: Callable[[JournalFile], bool]
) -> str | None:
    if journal.head is None:
        return None
    if journal.head.fingerprint != head.fingerprint:
        return (
            f"it differs in {'; '.join(identity_of(head).differences(identity_of(journal.head)))}"
        )
    if journal.head.order != head.order:
        return "its runs are in the order of another version"
    if is_complete(journal):
        return "that study is complete"
    return None


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


HOSTS_FILE = FileBeside[Hosts | None]("hosts.json", Hosts, lambda: None)


def folders_of(folder: Path) -> list[Path]:
    """The folders of its hosts that have a journal, by name; empty where it is no such folder."""
    if HOSTS_FILE.read(folder) is None:
        return []
    return sorted(each for each in folder.iterdir() if each.is_dir() and journal_in(each))
