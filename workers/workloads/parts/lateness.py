"""How late sleeps end: the time they took minus the time requested."""

# A sleep that is early by less than this is not: clock resolution and rounding explain it.
TOLERANCE_NS = 1_000


class Lateness:
    """Counts completed sleeps, and by how much they were late or early."""

    __slots__ = ("_count", "_early", "_late_max_ns", "_late_ns")

    def __init__(self) -> None:
        self._count = self._early = 0
        self._late_ns = self._late_max_ns = 0

    def add(self, requested_ns: int, took_ns: int) -> None:
        """Count one sleep."""
        late_ns = took_ns - requested_ns
        self._count += 1
        self._early += late_ns < -TOLERANCE_NS
        self._late_ns += late_ns
        self._late_max_ns = max(self._late_max_ns, late_ns)

    def figures(self) -> dict[str, float]:
        """Return `late_mean_s` (early ends count as negative), `late_max_s` and `early_total`."""
        return {
            "late_mean_s": self._late_ns / max(1, self._count) / 1e9,
            "late_max_s": self._late_max_ns / 1e9,
            "early_total": self._early,
        }
