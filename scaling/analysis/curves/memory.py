"""Memory of curves: which of its readings counts, and what each extra worker adds.

All that is compared is of one kind: PSS, since RSS counts a page that processes share for each of
them; RSS where one of the sides has no PSS.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
import pandas as pd

from scaling.analysis.arrays import Flags, Floats, Integers
from scaling.analysis.statistics.estimate import Estimate, median

MIB = 1024.0 * 1024.0

type MemoryKind = Literal["PSS", "RSS"]

READINGS: dict[MemoryKind, str] = {"PSS": "pss_bytes", "RSS": "rss_bytes"}  # columns of a frame


def readings(runs: pd.DataFrame) -> Floats:
    """The `READINGS` of some runs of a frame, shape (2, runs)."""
    return runs[list(READINGS.values())].to_numpy(np.float64).T


def memory_kind(sides: Iterable[Floats]) -> MemoryKind:
    """PSS if each side that has any reading of RSS has one of PSS; else RSS.

    A side is the `READINGS` of the valid runs of a curve, shape (2, runs); NaN is none.
    """
    known = [np.isfinite(readings).any(axis=1) for readings in sides]
    return "PSS" if all(has_pss or not has_rss for has_pss, has_rss in known) else "RSS"


def slope(memory_mib: Floats, workers: Integers, regions: Sequence[object]) -> Estimate:
    """MiB per extra worker: the slope of each block over `ns_of_slope`, then their median."""
    inside = ns_of_slope(regions)
    return median(slopes(memory_mib[:, inside], workers[inside]), "MiB per extra worker")


def ns_of_slope(regions: Sequence[object]) -> Flags:
    """Which of a curve's Ns a slope is over, by their regions: those with a CPU for each worker.

    Workers that wait for a CPU let garbage and buffers pile up, which is no cost of a worker. Where
    fewer than two Ns are inside, all count.
    """
    inside = np.array([region != "oversubscribed" for region in regions], np.bool_)
    return inside if inside.sum() > 1 else np.ones_like(inside)


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
