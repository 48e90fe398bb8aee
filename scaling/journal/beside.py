"""Files beside a journal: what was found out and is no run of the study. They are published.

The check of an application.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from scaling.journal.protected_write import write_text


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
    "state-in-process",
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
    "runs-on-each-loop",
]

KINDS: tuple[Kind, ...] = get_args(Kind.__value__)
NOTED_ONLY: tuple[Kind, ...] = ("runs-on-each-loop",)  # right or wrong: the user has to say
RIGHT_ANSWERS: tuple[Kind, ...] = ("gil-enabled", "one-thread-for-all", *NOTED_ONLY)


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong. `request` is the first one it shows in; "" if it is not of one.

    `models` are those that it was seen in; versions before 2.0 checked threads alone.
    """

    kind: Kind
    request: str
    message: str
    remedy: str
    models: tuple[str, ...] = ("threads",)


class AppCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a check; as JSON it is what `scaling app --check --json` prints.

    It is `ok` where no finding is wrong: what is only noted may be as it should.
    `models` are those that were compared with one loop. `left_out` says what was not checked.
    """

    ok: bool
    findings: list[Finding]
    models: tuple[str, ...] = ("threads",)
    left_out: list[str] = []

    @property
    def wrong_models(self) -> list[str]:
        """Those in which the application does not work as on one loop, in the order of `models`."""
        wrong = [each for each in self.findings if each.kind not in RIGHT_ANSWERS]
        found = {model for each in wrong for model in each.models}
        return [each for each in self.models if each in found]


CHECK_FILE = FileBeside[AppCheck | None]("check.json", AppCheck, lambda: None, "scaling app")


NAMES = (CHECK_FILE.name,)
