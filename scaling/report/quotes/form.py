"""How a figure is written in a text: its median, its interval or both, in which unit; or the
verdict on it instead.
"""

from dataclasses import dataclass

from scaling.analysis.statistics.estimate import Estimate
from scaling.base import formats
from scaling.base.errors import UsageError
from scaling.base.suggest import unknown

VERDICT, WORDS = "verdict", "words"  # its word; with by how much, or why it is inconclusive
FORMS = ("point", "interval", "percent", VERDICT, WORDS)


@dataclass(frozen=True, slots=True)
class Form:
    """Which parts of an estimate are written: both where none is named, in its own unit."""

    parts: frozenset[str] = frozenset()
    unit: str = ""

    @property
    def is_verdict(self) -> bool:
        """Whether only the verdict is written (`scaling.analysis.lookup.figure.verdicts`)."""
        return bool(self.parts & {VERDICT, WORDS})

    @property
    def is_in_words(self) -> bool:
        """Whether the verdict is written as in the tables: `slower, by 9 to 14 %`."""
        return WORDS in self.parts

    def text(self, value: Estimate) -> str:
        """`1.94 (1.92–1.97)`, `1.94`, `1.92–1.97`, `94.2 % (92.1–95.0 %)`.

        Raises:
            UsageError: there is no such figure, no interval of it, or its unit is of another kind.
        """
        if not value.n:
            raise UsageError("no valid run has it, or it is a ratio of two lower bounds")
        percent = "percent" in self.parts
        shown = value.scaled(100.0, "%") if percent else _in(self.unit, value)
        sign = " %" if percent else ""
        point, bounds = f"{formats.number(shown.point)}{sign}", shown.bounds
        if "interval" in self.parts:
            if not bounds:
                raise UsageError("it has no interval")
            return f"{bounds}{sign}"
        return f"{point} ({bounds}{sign})" if bounds and "point" not in self.parts else point


def form(parts: str, unit: str) -> Form:
    """A form as a source has it: `point`, `interval`, `percent`, or `point,percent`.

    Raises:
        UsageError: no such form or unit, or two that exclude each other.
    """
    named = frozenset(filter(None, parts.split(",")))
    for part in sorted(named):
        if part not in FORMS:
            raise unknown("form", part, FORMS, where="as")
    if {"point", "interval"} <= named:
        raise UsageError("as: leave it out to have point and interval")
    if named & {VERDICT, WORDS} and (len(named) > 1 or unit):
        raise UsageError("as: a verdict is written alone")
    if unit and unit not in formats.UNITS:
        raise unknown("unit", unit, formats.UNITS, where="in")
    if unit and "percent" in named:
        raise UsageError("in: a percentage has no other unit")
    return Form(named, unit)


def _in(unit: str, value: Estimate) -> Estimate:
    """The estimate in another unit of the same kind, such as ns for s, or MB/s for B/s."""
    if not unit:
        return value
    own, slash, each = value.unit.partition("/")
    factor = formats.unit_factor(own, unit)
    if factor is None:
        raise UsageError(f"in: {unit} is no unit for {value.unit or 'a number without one'}")
    return value.scaled(factor, f"{unit}{slash}{each}")
