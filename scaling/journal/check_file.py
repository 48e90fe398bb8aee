"""The check of an application: a file beside the journal, published with it."""

from pathlib import Path
from typing import Literal, get_args

import msgspec

from scaling.journal.protected_write import write_text

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


CHECK_FILE = "check.json"


def write_check(folder: Path, found: AppCheck) -> None:
    """Write the check beside the journal in this folder.

    Raises:
        UsageError: that place cannot be written.
        ScalingError: it could, but the disk is full or fails.
    """
    text = msgspec.json.format(msgspec.json.encode(found)).decode()
    write_text(folder / CHECK_FILE, text, again="scaling app")


def read_check(folder: Path | None) -> AppCheck | None:
    """The check beside the journal in a folder; None without a readable one, or a folder."""
    if folder is None:
        return None
    try:
        return msgspec.json.decode((folder / CHECK_FILE).read_bytes(), type=AppCheck)
    except (OSError, msgspec.DecodeError):
        return None
