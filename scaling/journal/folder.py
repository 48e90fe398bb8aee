"""Which folder a study is written to: a new one, or one whose study it resumes."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from scaling.journal.file import FILE_NAME, JournalFile
from scaling.journal.identity import identity_of
from scaling.journal.record import StudyLine

PUBLISHED_NAME = f"{FILE_NAME}.gz"  # a published study is never written to


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
