"""The best parameters of one law for one set of observations, and how well they do."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.laws.formula import UPPER, Law, throughput
from scaling.analysis.laws.observations import Observations
from scaling.analysis.laws.solve import fit_many, fit_one

EXACT = 1e-6  # of the throughput: no measurement is as good, so nearer fits are equally good


@dataclass(frozen=True, slots=True)
class Solution:
    """Parameters (P,) in units of the observations', and the sum of squares they leave."""

    law: Law
    seen: Observations
    parameters: Floats
    squares: float

    @property
    def all_three(self) -> tuple[float, float, float]:
        """Gamma, alpha and beta; those that the law does not have are 0."""
        gamma, alpha, beta = [*map(float, self.parameters), 0.0, 0.0][:3]
        return gamma, alpha, beta

    @property
    def at_bound(self) -> tuple[str, ...]:
        """The parameters that are at a bound, where the data would have them go on."""
        upper = UPPER[: self.law.count]
        there = (self.parameters <= 0) | (self.parameters >= upper)
        return tuple(name for name, yes in zip(self.law.parameters, there, strict=True) if yes)

    @property
    def residual(self) -> float:
        """Standard deviation of the values around the law."""
        return math.sqrt(self.squares / (len(self.seen.values) - self.law.count))

    @property
    def r_squared(self) -> float:
        """Share of the values' variance that the law explains."""
        values = self.seen.values
        total = float(np.sum((values - values.mean()) ** 2))
        return 1 - self.squares / total if total > 0 else math.nan

    @property
    def aicc(self) -> float:
        """Akaike's criterion, corrected for few values: the lower the better.

            n ln(S / n) + 2 k + 2 k (k + 1) / (n - k - 1)

        S is the sum of squares over the n values, k the law's parameters and one for their spread:
        C. M. Hurvich, C.-L. Tsai, Biometrika 76 (2), 1989, 297-307; K. P. Burnham, D. R. Anderson,
        Model Selection and Multimodel Inference, 2nd ed. (2002), 2.4. It takes noise to be the same
        at every N, as least squares do.
        """
        values = self.seen.values
        n, k = len(values), self.law.count + 1
        least = EXACT**2 * float(np.mean(values**2))
        spread = max(self.squares / n, least)
        return n * math.log(spread) + 2 * k + 2 * k * (k + 1) / (n - k - 1)

    def again(self, values: Floats, absent: Sequence[str] = ()) -> Floats:
        """The parameters (R, P) for other values (R, K) at the same Ns, some held at 0."""
        return fit_many(self.law, self.seen.workers, values, self.parameters, absent)


def solve(law: Law, seen: Observations) -> Solution:
    """Fit a law to observations."""
    parameters = fit_one(law, seen.workers, seen.values)
    left = throughput(seen.workers, parameters) - seen.values
    return Solution(law, seen, parameters, float(left @ left))
