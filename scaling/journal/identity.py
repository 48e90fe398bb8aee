"""The identity of a study (what it asks, and where it runs), and the folder that it is written to.

A folder that has a study of the same identity is resumed; another study gets a new one.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

from scaling.journal.file import FILE_NAME, JournalFile
from scaling.journal.reading import PUBLISHED_NAME
from scaling.journal.record import ArmRecord, Machine, StudyLine

# Facts that comparable runs have in common. Memory is left out: the kernel's figure can
# differ a little between boots.
MACHINE_KEYS = (
    "id",
    "cpu_model",
    "physical_cores",
    "logical_cpus",
    "usable_cpus",
    "cpu_quota",
    "kernel",
    "libc",
)

OWN = "Python files below --path"

type Facts = dict[str, str | float | None]


def facts_of(machine: Machine) -> Facts:
    """The facts that distinguish two machines."""
    return {key: getattr(machine, key) for key in MACHINE_KEYS}


def canonical(value: object) -> str:
    """One text for one value: JSON with sorted keys and no spaces."""
    return json.dumps(
        msgspec.to_builtins(value, str_keys=True), sort_keys=True, separators=(",", ":")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """All that must be the same to resume a journal.

    `study` is the settled study, `pins`, `workers_source` and `own_source` are digests of the
    children's requirements, of the source of `workers` and of a user's own.
    """

    study: Mapping[str, Any]
    machine: Mapping[str, Any]
    builds: Mapping[str, Any]
    pins: str | None
    workers_source: str | None
    own_source: str | None = None

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all of it, in hexadecimal."""
        known = {name: value for name, value in asdict(self).items() if name != "own_source"}
        own = {"own_source": self.own_source} if self.own_source else {}
        return hashlib.sha256(canonical(known | own).encode()).hexdigest()

    def differences(self, other: "Identity", own: str = OWN) -> tuple[str, ...]:
        """The differences from `other`, in words for a message; empty without any. A user's own
        code is called `own`.
        """
        words = {
            "study": "the study",
            "machine": "the machine",
            "builds": "the builds",
            "pins": "the pinned packages",
            "workers_source": "the source of the workers",
            "own_source": own,
        }
        ours, theirs = asdict(self), asdict(other)
        return tuple(
            _in_detail(word, ours[name], theirs[name])
            for name, word in words.items()
            if canonical(ours[name]) != canonical(theirs[name])
        )


def identity_of(line: StudyLine) -> Identity:
    """The identity of the study in a journal's first line."""
    return Identity(
        study=line.study,
        machine=facts_of(line.machine),
        builds={name: _build(arm) for name, arm in line.arms.items()},
        pins=line.pins,
        workers_source=line.workers_source,
        own_source=line.own_source,
    )


def _build(arm: ArmRecord) -> dict[str, Any]:
    """The arm without `expected`, which follows from the settings."""
    fields: dict[str, Any] = msgspec.to_builtins(arm)
    del fields["expected"]
    return fields


def _in_detail(word: str, ours: object, theirs: object) -> str:
    """`the study (seed, blocks)`: the keys that differ, where there are any."""
    if not isinstance(ours, Mapping) or not isinstance(theirs, Mapping):
        return word
    keys = _differing(ours, theirs)
    if "application" in keys and "application" in ours and "application" in theirs:
        at = keys.index("application")
        keys[at : at + 1] = _of_application(ours["application"], theirs["application"])
    return f"{word} ({', '.join(keys)})"


def _differing(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    every = {**ours, **theirs}
    return [key for key in every if canonical(ours.get(key)) != canonical(theirs.get(key))]


def _of_application(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    """The differences of the arguments of `scaling app`. Of the values of `--env` only digests
    are known (`scaling.study.definition`).
    """
    keys = _differing(ours, theirs)
    found = [key for key in keys if key not in ("environment_digest", "environment_key")]
    if len(found) == len(keys) or "environment" in keys:
        return found
    if "environment_key" in keys:
        return [*found, "perhaps values of --env: their digests have different keys"]
    return [*found, "values of --env"]


# ------------------------------------------------------------------------------------------- folder
# The folder that a study is written to: a new one, or one whose study it resumes.


def choose(
    output: Path,
    head: StudyLine,
    is_complete: Callable[[JournalFile], bool],
    own: str = OWN,
) -> tuple[JournalFile, list[str]]:
    """Open the journal in `output`, or in `output`-2, -3, … if that holds something else.

    Returns the journal and messages that explain the choice. A journal is resumed if it is of the
    same study on the same machine with the same builds and pins, in the same order of runs, and not
    complete. A new one gets `head` as its first line. A user's own code is called `own`.

    Raises:
        UsageError: a folder that cannot be written, a journal of a newer schema, or one that is
            being written at this moment.
    """
    notes: list[str] = []
    folder, number = output, 1
    while isinstance(found := _opened(folder, head, is_complete, own), str):
        number += 1
        following = output.with_name(f"{output.name}-{number}")
        notes.append(f"{folder} is kept ({found}); writing to {following}")
        folder = following
    if found.head is not None:
        notes.append(f"resuming {folder}: {len(found.runs)} runs are already measured")
        return found, notes
    if found.torn_head:
        notes.append(f"{found.path}: its only line was cut off, nothing was measured; starting")
    try:
        found.append(head)
    except BaseException:
        found.close()
        raise
    return found, notes


def _opened(
    folder: Path, head: StudyLine, is_complete: Callable[[JournalFile], bool], own: str
) -> JournalFile | str:
    """The folder's journal, open, or the reason why it cannot be resumed."""
    if (folder / PUBLISHED_NAME).exists():
        return "it holds a published study"
    journal = JournalFile(folder / FILE_NAME)
    reason = _reason_against(journal, head, is_complete, own)
    if reason is None:
        return journal
    journal.close()
    return reason


def _reason_against(
    journal: JournalFile, head: StudyLine, is_complete: Callable[[JournalFile], bool], own: str
) -> str | None:
    if journal.head is None:
        return None
    if journal.head.fingerprint != head.fingerprint:
        found = identity_of(head).differences(identity_of(journal.head), own)
        others = "; ".join(each for each in found if each != own)
        reasons = [f"it differs in {others}"] if others else []
        return "; ".join([*reasons, *([f"{own} changed"] if own in found else [])])
    if journal.head.order != head.order:
        return "its runs are in the order of another version"
    if is_complete(journal):
        return "that study is complete"
    return None
