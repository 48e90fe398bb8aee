"""Figures in the unit in which they are easily read: 4.2e-07 s as 420 ns."""

from scaling.analysis.statistics.estimate import Estimate
from scaling.base import formats

# From the largest unit down: the first one of which there is at least one is taken.
READ_IN = {"s": ("s", "ms", "µs", "ns"), "B": ("MiB", "KiB", "B")}


def with_unit(value: Estimate) -> str:
    """An estimate with its interval or range and its unit: `1.21 (1.19–1.23) ×`; – for none."""
    if not value.n:
        return formats.BLANK
    unit, times = _readable(value.point, value.unit)
    return f"{value.scaled(times, unit)!s} {unit}".strip()


def amount(value: float, unit: str) -> str:
    """A single number with its unit; of a ratio the number alone."""
    readable, times = _readable(value, unit)
    shown = "" if unit == "×" else readable
    return f"{formats.number(value * times)} {shown}".strip()


def _readable(value: float, unit: str) -> tuple[str, float]:
    """A unit for the value, and what to multiply it by."""
    known = {name: formats.unit_factor(unit, name) or 1.0 for name in READ_IN.get(unit, (unit,))}
    *_, smallest = known
    name = next((name for name, times in known.items() if abs(value) * times >= 1), smallest)
    return name, known[name]
