"""Counts of requests by outcome, in windows by due time.

Throughput is what clients receive in a stretch of time, whenever it was due: of those that are due
in it, the ones in flight at its end have no answer yet.

Background requests load the server; their latencies are not among the others.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from workers.worker.handle import EXACT_BITS, Histogram

QUANTITIES = ("latency", "service", "first_byte", "slip", "censored")


class Window:
    """The requests that were due in a stretch of time; histograms are in ns.

    `received` are the good answers that came in it, background ones included. `background` has the
    background requests among those due, which are counted in it alone.
    """

    __slots__ = (
        *("background", "closes_ns", "completed", "declined", "errors", "offered", "received"),
        *QUANTITIES,
    )

    def __init__(self, closes_ns: int, background: "Window | None" = None) -> None:
        self.closes_ns = closes_ns
        self.background = background
        self.offered = 0
        self.completed = 0
        self.received = 0
        self.errors: Counter[str] = Counter()
        self.declined: Counter[str] = Counter()
        self.latency = Histogram()  # from the due time
        self.service = Histogram()  # from the send
        self.first_byte = Histogram()  # from the due time, of unfinished ones too
        self.slip = Histogram()  # from the earliest possible send to the actual one
        self.censored = Histogram()  # latency so far of what was unfinished at the end

    def document(self) -> dict[str, object]:
        """Counts and histograms as JSON takes them; no `background` where there was none."""
        background = self.background if self.background and self.background.offered else None
        return {
            "offered": self.offered,
            "completed": self.completed,
            "received": self.received,
            "errors": dict(self.errors),
            "declined": dict(self.declined),
            **{name: getattr(self, name).document() for name in QUANTITIES},
            "background": background.document() if background else None,
        }


class Tally:
    """The warm-up and, between each two instants (monotonic ns), a window.

    `background` are the positions of background requests in the list of requests. A slice is
    followed by a time in which what is in flight at its end is still answered: with `drains` such
    requests are settled as all others, though not received in the slice.
    """

    def __init__(
        self,
        instants_ns: Sequence[int],
        background: Collection[int] = (),
        *,
        drains: bool = False,
    ) -> None:
        self._drains = drains
        self._background = frozenset(background)
        self._window = Window(instants_ns[0], Window(instants_ns[0]))
        self.fix(instants_ns)

    def fix(self, instants_ns: Sequence[int]) -> None:
        """Replace the first instants, none of which has come yet."""
        self.opens_ns, *closes_ns = instants_ns
        self.closes_ns = closes_ns[-1]
        self._window.closes_ns = self.opens_ns
        self.windows = [Window(each, Window(each)) for each in closes_ns]
        self._closes_ns = closes_ns
        self._order: Iterator[Window] = iter(self.windows)

    @property
    def answered(self) -> int:
        """Good answers between the first and the last instant, whenever they were due."""
        return sum(window.received for window in self.windows)

    def take(self, due_ns: int, position: int = 0) -> Window:
        """Count the request at a position in the list as offered; return where it is settled.

        Each is due no earlier than the one before.
        """
        while due_ns >= self._window.closes_ns:
            self._window = next(self._order)
        window = self._window
        if position in self._background and window.background:
            window = window.background
        window.offered += 1
        return window

    def settle(
        self,
        window: Window,
        due_ns: int,
        sent_ns: int,
        done_ns: int,
        error: str,
        *,
        first_ns: int | None = None,
        declined: bool = False,
    ) -> None:
        """Count how a request ended; an empty `error` is a good answer.

        `first_ns` is when its first byte came; None where none is timed.
        """
        if done_ns >= self.closes_ns and not self._drains:
            self.censor(window, due_ns, first_ns)
        elif declined:
            window.declined[error] += 1
        elif error:
            window.errors[error] += 1
        else:
            window.completed += 1
            window.latency.record(done_ns - due_ns)
            window.service.record(done_ns - sent_ns)
            if first_ns is not None:
                window.first_byte.record(first_ns - due_ns)
            if self.opens_ns <= done_ns < self.closes_ns:
                self.windows[bisect_right(self._closes_ns, done_ns)].received += 1

    def censor(self, window: Window, due_ns: int, first_ns: int | None = None) -> None:
        """Count a request that is unfinished at the last instant; `first_ns` 0: without a byte."""
        window.censored.record(self.closes_ns - due_ns)
        if first_ns is not None:
            window.first_byte.record(min(first_ns or self.closes_ns, self.closes_ns) - due_ns)


# ------------------------------------------------------------------------------------- distribution
# Histograms of processes and windows added up, and what is read off the sum.

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}
BEYOND = 20
"""Samples beyond a percentile below which it is not given: it would be mostly chance."""

type Figures = dict[str, float | int | None]


class Distribution:
    """The values of many histograms, each known to 0.4 %: the middle of its bucket."""

    def __init__(self, documents: Iterable[Mapping[str, Sequence[int]] | None]) -> None:
        """`documents` are those of histograms: `value_ns` and `count`."""
        counts: Counter[int] = Counter()
        for each in documents:
            if each:
                counts.update(dict(zip(each["value_ns"], each["count"], strict=True)))
        self._counts = sorted(counts.items())
        self.n = counts.total()

    @property
    def mean_ms(self) -> float | None:
        """Arithmetic mean; None without values."""
        if not self.n:
            return None
        return sum(_middle_ms(edge) * count for edge, count in self._counts) / self.n

    def quantile_ms(self, q: float) -> float | None:
        """The smallest value that a share `q` of all does not exceed; None without values."""
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
