"""Units, and the factor between two of one kind."""

# Each unit in terms of the first of its kind.
KINDS = (
    {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "us": 1e-6, "ns": 1e-9},
    {"B": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "KB": 1e3, "MB": 1e6, "GB": 1e9},
)
NAMES = [name for kind in KINDS for name in kind]


def factor(own: str, unit: str) -> float | None:
    """The factor from the unit `own` to `unit`; None if there is none."""
    if own == unit:
        return 1.0
    found = (kind[own] / kind[unit] for kind in KINDS if own in kind and unit in kind)
    return next(found, None)
