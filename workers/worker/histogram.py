"""Latencies counted in a histogram of fixed size, so that a million of them cost no memory.

Buckets are those of the HDR histogram (Gil Tene, hdrhistogram.org): as wide as a value's size
allows at a fixed relative precision, found by shifting, without a logarithm.
"""

PRECISION_BITS = 7  # buckets are at most 2**-7 of their value wide: 0.8 %
EXACT_BITS = PRECISION_BITS + 1  # values of so many bits have a bucket each
LARGEST_NS = (1 << 44) - 1  # nearly five hours; what takes longer is counted as that
SIZE = (44 - EXACT_BITS + 2) << PRECISION_BITS  # 4,864 buckets, 38 KiB


class Histogram:
    """Counts of values in ns; values below 256 ns are exact, others within 0.8 %.

    Every histogram has the same buckets, so that many are merged by adding up their counts.
    """

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: list[int] = []  # made for the first value: most workers have none

    def record(self, ns: int) -> None:
        """Count one value; what is below 0 counts as 0, what is too large as the largest."""
        if ns < 0:
            ns = 0
        shift = ns.bit_length() - EXACT_BITS
        try:
            if shift > 0:
                self._counts[(shift << PRECISION_BITS) + (ns >> shift)] += 1
            else:
                self._counts[ns] += 1
        except IndexError:
            self._counts = self._counts or [0] * SIZE
            self.record(min(ns, LARGEST_NS))

    def document(self) -> dict[str, list[int]] | None:
        """Non-empty buckets: the lower edge of each in ns, and its count; None without any."""
        filled = [(lower_edge_ns(k), count) for k, count in enumerate(self._counts) if count]
        if not filled:
            return None
        return {"value_ns": [edge for edge, _ in filled], "count": [count for _, count in filled]}


def lower_edge_ns(bucket: int) -> int:
    """The smallest value that falls into a bucket, ns."""
    shift = max(0, (bucket >> PRECISION_BITS) - 1)
    return (bucket - (shift << PRECISION_BITS)) << shift
