"""Histograms of processes and windows added up, and what is read off the sum."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from workers.worker.histogram import EXACT_BITS

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}
BEYOND = 20
"""Samples beyond a percentile below which it is not given: it would be mostly chance."""

type Document = Mapping[str, Sequence[int]]  # of a histogram: `value_ns` and `count`
type Figures = dict[str, float | int | None]


class Distribution:
    """The values of many histograms, each known to 0.4 %: the middle of its bucket."""

    def __init__(self, documents: Iterable[Document | None]) -> None:
        counts: Counter[int] = Counter()
        for each in documents:
            if each:
                counts.update(dict(zip(each["value_ns"], each["count"], strict=True)))
        self._counts = sorted(counts.items())
        self.n = counts.total()

    @property
    def mean_ms(self) -> float | None:
        """Arithmetic mean; None of nothing."""
        if not self.n:
            return None
        return sum(_middle_ms(edge) * count for edge, count in self._counts) / self.n

    def quantile_ms(self, q: float) -> float | None:
        """The smallest value that at least a share `q` of all is not above; None of nothing."""
        below = 0
        for edge, count in self._counts:
            below += count
            if below >= q * self.n:
                return _middle_ms(edge)
        return None

    def figures(self) -> Figures:
        """Mean, percentiles, maximum (ms) and n; a percentile with too few beyond it is None."""
        return {
            "mean": self.mean_ms,
            **{
                name: self.quantile_ms(q) if self.n * (1 - q) >= BEYOND - 1e-9 else None
                for name, q in QUANTILES.items()
            },
            "max": self.quantile_ms(1.0),
            "n": self.n,
        }

    def document(self) -> dict[str, list[int]]:
        """The sum as a histogram's document."""
        return {
            "value_ns": [edge for edge, _ in self._counts],
            "count": [count for _, count in self._counts],
        }


def _middle_ms(edge_ns: int) -> float:
    """The middle of the bucket with this lower edge."""
    width_ns = 1 << max(0, edge_ns.bit_length() - EXACT_BITS)
    return (edge_ns + (width_ns - 1) / 2) / 1e6
