"""What a law is fitted to: Ns and throughputs, checked; the serial fraction where they are few."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

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
    """Arrays as `fit_usl` takes them, checked and in order of N. Raises what it does."""
    ns, values = _pairs(workers, throughput, "throughput")
    distinct = len(np.unique(ns))
    if distinct < FEWEST_N:
        raise ValueError(
            f"not fitted: too few points: {distinct} distinct N, and a law needs {FEWEST_N}"
        )
    unit_per_s = float(values.max())
    runs = pd.DataFrame({"n": ns, "value": values / unit_per_s}).sort_values("n", kind="stable")
    if blocks is None:
        return Observations(runs["n"].to_numpy(), runs["value"].to_numpy(), unit_per_s)
    labels = np.asarray(blocks)
    _same_length("blocks", ns, labels)
    runs["block"] = labels[runs.index]
    if runs.duplicated(["block", "n"]).any():
        raise ValueError("a block has two values at one N; it can have one")
    grid = runs.pivot(index="block", columns="n", values="value")
    medians = grid.median().to_numpy()
    return Observations(grid.columns.to_numpy(), medians, unit_per_s, grid.to_numpy())


def karp_flatt(workers: npt.ArrayLike, speedup: npt.ArrayLike) -> Floats:
    """The experimentally determined serial fraction of each point, (K,).

        e = (1 / speedup - 1 / N) / (1 - 1 / N)

    A. H. Karp, H. P. Flatt, Measuring parallel processor performance, Communications of the ACM 33
    (5), 1990, 539-543. If it rises with N, something besides a serial part holds the workers up;
    below 0 the speed-up is more than N. It is NaN at N = 1, where it says nothing.

    Args:
        workers: N of each point, (K,), in any order, 1 or more.
        speedup: throughput over that of one worker, (K,), positive.

    Raises:
        ValueError: an array is empty or not one-dimensional, they differ in length, there is NaN or
            infinity, an N below 1 or a speed-up that is not positive.
    """
    ns, gained = _pairs(workers, speedup, "speedup")
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(ns > 1, (1 / gained - 1 / ns) / (1 - 1 / ns), np.nan)


def at_least_one(workers: Floats) -> None:
    """Raise `ValueError` for an N below 1."""
    if (workers < 1).any():
        raise ValueError(f"workers must be 1 or more; {workers.min():g} is among them")


def _pairs(workers: npt.ArrayLike, values: npt.ArrayLike, name: str) -> tuple[Floats, Floats]:
    """Both as arrays (K,) of finite floats, the second positive, or a `ValueError`."""
    ns, ours = _finite(workers, "workers"), _finite(values, name)
    _same_length(name, ns, ours)
    at_least_one(ns)
    if (ours <= 0).any():
        raise ValueError(f"{name} must be positive; {ours.min():g} is among it")
    return ns, ours


def _finite(values: npt.ArrayLike, name: str) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"{name} must be a one-dimensional array; this has {array.ndim}")
    if not len(array):
        raise ValueError(f"{name} is empty")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} has NaN or infinity in it; leave such values out")
    return array


def _same_length(name: str, ns: Floats, others: npt.NDArray[np.generic]) -> None:
    if ns.shape != others.shape:
        raise ValueError(f"workers and {name} differ in length: {len(ns)} and {others.size}")
