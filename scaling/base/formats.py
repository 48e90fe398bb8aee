"""Numbers and times as people read them: three significant digits, a unit, a range beside it."""

import math
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache

BLANK = "–"
ROUNDED_AWAY = 1e-12  # no figure is so small: this is rounding error
DIGITS = 3  # the noise of a run never justifies more
SMALLEST = 1e-4  # below, leading zeros are hard to count

# Each unit in bytes.
SIZES = {"B": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "KB": 1e3, "MB": 1e6, "GB": 1e9}


@lru_cache(maxsize=1 << 16)  # terminal, Markdown and CSV show the same figures
def number(value: float) -> str:
    """Three significant digits, thousands apart: 65300 → `65,300`, 0.01234 → `0.0123`."""
    if not math.isfinite(value):
        return BLANK
    if abs(value) < ROUNDED_AWAY:
        return "0"
    rounded = float(f"{value:.{DIGITS - 1}e}")
    if abs(rounded) < SMALLEST:
        return f"{rounded:.{DIGITS - 1}e}"
    decimals = DIGITS - 1 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:,.{max(0, decimals)}f}"


def fixed(value: float, decimals: int) -> str:
    """A number with a fixed number of decimals, for columns that add up; never `-0.0`."""
    return f"{round(value, decimals) + 0.0:,.{decimals}f}"


def span(low: str, high: str) -> str:
    """`64,100–66,000`; `-0.01 to 0.02`, where a dash beside a sign would be hard to read."""
    return f"{low} to {high}" if "-" in (low[0], high[0]) else f"{low}–{high}"


def percent(share: float) -> str:
    """0.02 → `2 %`, 0.03142 → `3.14 %`, 12 → `1,200 %`."""
    whole = 100 * share
    return f"{whole:,.0f} %" if abs(whole) >= 100 else f"{whole:.{DIGITS}g} %"


def spread(shares: Iterable[float]) -> str:
    """The range of differences of equal cells: `±3.14 % to 12 %`; above 100 % `a factor of 3.5`."""
    ordered = sorted(shares)
    least, most = ordered[0], ordered[-1]
    if most < 1:
        return f"±{' to '.join(dict.fromkeys((percent(least), percent(most))))}"
    if least < 1:
        return f"±{percent(least)} to a factor of {_factor(most)}"
    return f"a factor of {' to '.join(dict.fromkeys((_factor(least), _factor(most))))}"


def _factor(share: float) -> str:
    return f"{1 + share:,.{0 if share >= 9 else 1}f}"


def parameter(value: object) -> str:
    """A parameter's value in full: 1000000 → `1,000,000`, 0.5 → `0.5`, True → `true`."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:,}" if isinstance(value, int | float) else str(value)


ENDS_IN_Y = re.compile("(?<![aeiou])y$")


def plural(count: int, noun: str) -> str:
    """`1 run`, `3 runs`, `2 studies`."""
    return f"{count:,} {noun if count == 1 else ENDS_IN_Y.sub('ie', noun) + 's'}"


def listed(things: Iterable[object]) -> str:
    """`threads`, `threads and processes`, `a, b and c`. Raises `ValueError` for none."""
    *others, last = map(str, things)
    return f"{', '.join(others)} and {last}" if others else last


def duration(seconds: float) -> str:
    """A duration: `45 s`, `3 min 20 s`, `2 h 05 min`."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def now() -> str:
    """The time as journals have it: UTC, to the second, `2026-11-20T18:30:00Z`."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
