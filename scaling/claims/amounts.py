"""Figures in the unit in which they are easily read: 4.2e-07 s as 420 ns."""

from scaling import wording
from scaling.analysis.estimate import Estimate

# From the largest unit down: the first one of which there is at least one is taken.
READ_IN = {
    "s": {"s": 1.0, "ms": 1e3, "µs": 1e6, "ns": 1e9},
    "B": {"MiB": 2.0**-20, "KiB": 2.0**-10, "B": 1.0},
}


def told(value: Estimate) -> str:
    """An estimate with its interval or range and its unit: `1.21 (1.19–1.23) ×`; – for none."""
    if not value.n:
        return wording.BLANK
    unit, factor = _readable(value.point, value.unit)
    return f"{wording.estimate(value.scaled(factor, unit))} {unit}".strip()


def amount(value: float, unit: str) -> str:
    """A single number with its unit; of a ratio the number alone."""
    readable, factor = _readable(value, unit)
    shown = "" if unit == "×" else readable
    return f"{wording.number(value * factor)} {shown}".strip()


def _readable(value: float, unit: str) -> tuple[str, float]:
    """A unit for the value, and what to multiply it by."""
    units = READ_IN.get(unit, {unit: 1.0})
    *_, smallest = units
    name = next((name for name, factor in units.items() if abs(value) * factor >= 1), smallest)
    return name, units[name]
