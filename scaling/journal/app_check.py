"""What is wrong with an application on several loops, and the result of a check."""

from pathlib import Path
from typing import Literal, get_args

import msgspec

from scaling.journal.beside import CHECK, read_beside, write_beside

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


def write_check(folder: Path, found: AppCheck) -> None:
    """Write it beside the journal. Raises `OSError`."""
    write_beside(folder, CHECK, found)


def read_check(folder: Path) -> AppCheck | None:
    """That of a study; None where nothing was checked, or the file cannot be read."""
    return read_beside(folder, CHECK, AppCheck)
