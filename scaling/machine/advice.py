"""What a look at the machine comes to: a finding in plain words, and what to do about it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

type Severity = Literal["fine", "mind", "stop"]

SEVERITIES: tuple[Severity, ...] = ("fine", "mind", "stop")


@dataclass(frozen=True, slots=True)
class Advice:
    """One finding. `fine`: no harm; `mind`: figures may suffer; `stop`: do not measure like this.

    `remedy` says what to do, empty where there is nothing to be done.
    """

    severity: Severity
    finding: str
    remedy: str = ""


def gravest(found: Iterable[Advice]) -> Severity:
    """The worst of it."""
    return max((each.severity for each in found), key=SEVERITIES.index, default="fine")
