"""One finding of `scaling doctor`: what it is, in plain words, and what to do about it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

type Severity = Literal["ok", "warning", "stop"]

SEVERITIES: tuple[Severity, ...] = ("ok", "warning", "stop")


@dataclass(frozen=True, slots=True)
class Advice:
    """One finding. `warning`: figures may suffer; `stop`: figures would mislead.

    `remedy` says what to do; it is empty if nothing can be done.
    """

    severity: Severity
    finding: str
    remedy: str = ""


def worst(found: Iterable[Advice]) -> Severity:
    """The highest severity among the findings."""
    return max((each.severity for each in found), key=SEVERITIES.index, default="ok")
