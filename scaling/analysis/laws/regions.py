"""What law a curve follows inside each topology region, or why none can be fitted.

A curve bends where the hardware does, so a law is fitted to the points of one region only, to the
medians that the tables show. Where they are too few, the serial fraction of Karp and Flatt says
what the speed-up at each N amounts to.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.curves import Curve
from scaling.analysis.laws.fits import FEWEST_N, Choice, choose
from scaling.analysis.statistics.estimate import Estimate, median

TOO_FEW = "not fitted: too few points"
NO_REGION = "not fitted: what the machine's CPUs share is not known"


@dataclass(frozen=True, slots=True)
class RegionLaw:
    """The points of a curve inside one region, and the law chosen for them, if there is one.

    `why` is empty where a law was fitted. `serial_fractions` has an estimate for each N above 1;
    it rests on N = 1, so that only the region with N = 1 in it has any.
    """

    curve: Curve
    region: str | None
    workers: tuple[int, ...]
    choice: Choice | None
    why: str
    serial_fractions: dict[int, Estimate]


def region_laws(curve: Curve) -> list[RegionLaw]:
    """One for each region that has a valid run of the curve, in order of N."""
    measured = [(each.region, each.workers) for each in curve.points if each.throughput.point > 0]
    regions = groupby(measured, lambda each: each[0])
    return [_law(curve, name, tuple(n for _, n in found)) for name, found in regions]


def _law(curve: Curve, region: str | None, workers: tuple[int, ...]) -> RegionLaw:
    columns = [curve.workers.index(n) for n in workers]
    why = NO_REGION if region is None else TOO_FEW if len(workers) < FEWEST_N else ""
    grid = np.ascontiguousarray(curve.values["throughput"][:, columns])
    choice = None if why else _chosen(workers, grid.tobytes())
    speedups = zip(workers, curve.values["speedup"][:, columns].T, strict=True)
    fractions = {n: _serial(n, found) for n, found in speedups if 1 in workers and n > 1}
    return RegionLaw(curve, region, workers, choice, why, fractions)


@lru_cache(maxsize=1024)
def _chosen(workers: tuple[int, ...], runs: bytes) -> Choice:
    """The choice for runs (blocks × N); tables, CSV and plots of a study ask for the same ones."""
    grid = np.frombuffer(runs).reshape(-1, len(workers))
    known = grid > 0  # NaN is not
    return choose(np.array(workers, float), np.where(known, grid, np.nan)[known.any(axis=1)])


def _serial(n: int, speedups: Floats) -> Estimate:
    known = speedups[np.isfinite(speedups) & (speedups > 0)]
    return median(karp_flatt(n, known), "")


def karp_flatt(n: int | Floats, speedup: Floats) -> Floats:
    """The experimentally determined serial fraction at `n` workers, in the shape of `speedup`.

        e = (1 / speedup - 1 / N) / (1 - 1 / N)

    A. H. Karp, H. P. Flatt, Measuring parallel processor performance, Communications of the ACM 33
    (5), 1990, 539-543. `speedup` is throughput over that of one worker, positive, `n` 2 or more. If
    it rises with N, something besides a serial part holds the workers up; below 0 the speed-up is
    more than N.
    """
    return np.asarray((1 / speedup - 1 / n) / (1 - 1 / n))
