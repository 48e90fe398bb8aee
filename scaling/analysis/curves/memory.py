"""Memory of a curve: which of its readings counts, and what each extra worker adds."""

from collections.abc import Mapping

import numpy as np

from scaling.analysis.arrays import Floats, Integers
from scaling.analysis.statistics.estimate import Estimate, median
from scaling.base.vocabulary import PROCESSES

MIB = 1024.0 * 1024.0


def kind_and_bytes(model: str, grids: Mapping[str, Floats]) -> tuple[str, Floats]:
    """Which reading is the memory of a curve, and its values; `grids` are columns, blocks × N.

    RSS; for processes, fresh or forked, PSS where it is known, since they share pages that RSS
    counts for each.
    """
    if model in PROCESSES:
        pss = grids["pss_bytes"]
        if np.isfinite(pss).any():
            return "PSS", pss
    return "RSS", grids["rss_bytes"]


def slope(memory_mib: Floats, workers: Integers) -> Estimate:
    """MiB per extra worker: the slope of each block, then their median."""
    return median(slopes(memory_mib, workers), "MiB per extra worker")


def slopes(values: Floats, workers: Integers) -> Floats:
    """What each extra worker adds in each block, shape (blocks,): the least-squares line over N.

    `values` are of shape (blocks, Ns); NaN is left out, and is the slope of a block with one N.
    """
    known = np.isfinite(values)
    counts = np.maximum(known.sum(axis=1, keepdims=True), 1)
    middle = (known * workers).sum(axis=1, keepdims=True) / counts
    aside = np.where(known, workers - middle, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):  # a block with one N has no slope
        found: Floats = (aside * np.nan_to_num(values)).sum(axis=1) / (aside**2).sum(axis=1)
    return found
