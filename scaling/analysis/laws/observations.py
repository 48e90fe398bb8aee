"""What a law is fitted to: Ns and throughputs, checked before anything is worked out."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scaling.analysis.arrays import Floats

FEWEST_N = 6
"""Distinct Ns that a law needs. Three parameters and the spread leave two to spare, and AICc of the
largest law exists from here on: its last term divides by n - 5."""


@dataclass(frozen=True, slots=True)
class Observations:
    """Ns (K,) and the values to fit at each: single runs, or medians over blocks.

    `grid` (blocks × K) holds the runs behind medians, NaN where one is missing; None where every
    value stands for itself. Throughput is in units of `unit_per_s`, the highest, so that a fit
    does not depend on what an operation is.
    """

    workers: Floats
    values: Floats
    unit_per_s: float
    grid: Floats | None = None


def observe(
    workers: npt.ArrayLike, throughput: npt.ArrayLike, blocks: npt.ArrayLike | None = None
) -> Observations:
    """Arrays as `fit_usl` takes them, checked and in order of N.

    Raises:
        ValueError: as `fit_usl` says.
    """
    ns = finite(workers, "workers")
    values = finite(throughput, "throughput")
    same_length(("workers", ns), ("throughput", values))
    at_least_one(ns)
    if (values <= 0).any():
        raise ValueError(f"throughput must be positive; {values.min():g} is among it")
    distinct = np.unique(ns)
    if len(distinct) < FEWEST_N:
        raise ValueError(
            f"not fitted: too few points: {len(distinct)} distinct N, and a law needs {FEWEST_N}"
        )
    unit_per_s = float(values.max())
    values = values / unit_per_s
    if blocks is None:
        order = np.argsort(ns, kind="stable")
        return Observations(ns[order], values[order], unit_per_s)
    labels = np.asarray(blocks)
    same_length(("workers", ns), ("blocks", labels))
    grid = _grid(distinct, ns, values, labels)
    return Observations(distinct, np.nanmedian(grid, axis=0), unit_per_s, grid)


def _grid(distinct: Floats, ns: Floats, values: Floats, labels: npt.NDArray[np.generic]) -> Floats:
    """One row a block, one column an N."""
    names, rows = np.unique(labels, return_inverse=True)
    columns = np.searchsorted(distinct, ns)
    if len(np.unique(rows * len(distinct) + columns)) < len(ns):
        raise ValueError("a block has two values at one N; it can have one")
    grid = np.full((len(names), len(distinct)), np.nan)
    grid[rows, columns] = values
    return grid


def finite(values: npt.ArrayLike, name: str) -> Floats:
    """A one-dimensional array of finite floats with something in it, or a `ValueError`."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"{name} must be a one-dimensional array; this has {array.ndim}")
    if not len(array):
        raise ValueError(f"{name} is empty")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} has NaN or infinity in it; leave such values out")
    return array


def same_length(*named: tuple[str, npt.NDArray[np.generic]]) -> None:
    """Raise `ValueError` if the two arrays do not have as many values."""
    (first, ours), (second, theirs) = named
    if ours.shape != theirs.shape:
        raise ValueError(f"{first} and {second} differ in length: {len(ours)} and {theirs.size}")


def at_least_one(workers: Floats) -> None:
    """Raise `ValueError` for an N below 1."""
    if (workers < 1).any():
        raise ValueError(f"workers must be 1 or more; {workers.min():g} is among them")
