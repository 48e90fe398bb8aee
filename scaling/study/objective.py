"""Objectives of a service level (SLO): `p99<20ms` says that P99 of the latency is below 20 ms."""

import re
from dataclasses import dataclass

from scaling.base.errors import UsageError

# Percentiles of the latency that an objective can be about.
PERCENTILES = ("p50", "p90", "p95", "p99", "p999")
UNITS_S = {"us": 1e-6, "ms": 1e-3, "s": 1.0}

# As a study file may write it, in regular expressions of both JSON Schema and Python.
_NAMES = "|".join(name.removeprefix("p") for name in PERCENTILES)
PATTERN = rf"^\s*[pP]({_NAMES})\s*<\s*([0-9]+(?:\.[0-9]+)?)\s*({'|'.join(UNITS_S)})\s*$"


@dataclass(frozen=True, slots=True)
class Objective:
    """The latency at a percentile is below a limit, in seconds; `text` says it: `p99<20ms`."""

    percentile: str
    limit_s: float
    text: str


def parse_objective(text: str, where: str = "slo") -> Objective:
    """Read an objective; spaces do not count. `where` begins the message of an error.

    Raises:
        UsageError: it is not a percentile, `<` and a time above 0 with its unit.
    """
    found = re.match(PATTERN, text)
    if found is None or float(found[2]) == 0:
        raise UsageError(
            f"{where}: expected an objective such as p99<20ms ({', '.join(PERCENTILES)}; "
            f"{', '.join(UNITS_S)}), got {text!r}"
        )
    number, limit, unit = found.groups()
    return Objective(f"p{number}", float(limit) * UNITS_S[unit], f"p{number}<{limit}{unit}")
