"""What is said where server and load generator share their cores, and throughput says little."""

import math
from collections.abc import Collection

import numpy as np
import pandas as pd

from scaling.analysis.curves.sections import Section
from scaling.analysis.table.groups import CELL, originals
from scaling.analysis.table.shared_cores import SHARED_CORES
from scaling.base import formats
from scaling.journal.record import Parameters


def bounds(frame: pd.DataFrame, sections: Collection[Section]) -> dict[int, float]:
    """What N workers of any configuration can gain over one at most, by N, where cores are shared:
    the greatest of the cells' medians. Empty where there were cores enough.
    """
    variants = {
        (curve.key.workload, curve.key.parameters) for each in sections for curve in each.curves
    }
    runs = originals(frame[frame["valid"] & frame["shared_cores"]])
    own = [
        (workload, parameters) in variants
        for workload, parameters in zip(
            runs["workload"], map(Parameters.read, runs["parameters"]), strict=True
        )
    ]
    cells = runs[np.array(own, np.bool_)].groupby(list(CELL), observed=True)["gain_bound"].median()
    greatest = cells.groupby(level="workers").max()
    found = {int(str(n)): float(bound) for n, bound in greatest.items()}
    return {n: bound for n, bound in found.items() if n > 1 and math.isfinite(bound)}


def bound_text(found: dict[int, float]) -> str:
    """`shared cores: at most ×1.4 at N = 2`; empty where there were cores enough."""
    parts = [f"×{formats.number(bound)} at N = {n}" for n, bound in sorted(found.items())]
    return f"{SHARED_CORES}: N workers gain at most {formats.listed(parts)}" if parts else ""
