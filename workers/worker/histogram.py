"""Latencies in a histogram of fixed size: a million of them need no more memory than one.

Buckets are those of the HDR histogram (Gil Tene, hdrhistogram.org): their width grows with the
value at a fixed relative precision, and the bucket is found by shifting, without a logarithm.
"""

PRECISION_BITS = 7  # a bucket is at most 2**-7 of its value wide: 0.8 %
EXACT_BITS = PRECISION_BITS + 1  # values of up to this many bits have a bucket each
LARGEST_NS = (1 << 44) - 1  # nearly five hours; longer latencies count as this
SIZE = (44 - EXACT_BITS + 2) << PRECISION_BITS  # 4,864 buckets, 38 KiB


class Histogram:
    """Counts of values in ns; values below 256 ns are exact, others within 0.8 %.

    All histograms have the same buckets, so they merge by adding their counts.
    """

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: list[int] = []  # allocated at the first value: most workers have none

    def record(self, ns: int) -> None:
        """Count one value; below 0 counts as 0, too large as the largest."""
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
        """Return the non-empty buckets: lower edges in ns and counts; None if there are none."""
        filled = [(lower_edge_ns(k), count) for k, count in enumerate(self._counts) if count]
        if not filled:
            return None
        return {"value_ns": [edge for edge, _ in filled], "count": [count for _, count in filled]}


def lower_edge_ns(bucket: int) -> int:
    """The smallest value in a bucket, ns."""
    shift = max(0, (bucket >> PRECISION_BITS) - 1)
    return (bucket - (shift << PRECISION_BITS)) << shift
