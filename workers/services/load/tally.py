"""What is counted: requests by how they ended, in windows by when they were due."""

from collections import Counter
from collections.abc import Iterator, Sequence

from workers.worker.histogram import Histogram

QUANTITIES = ("latency", "service", "slip", "censored")


class Window:
    """The requests that were due in a stretch of time; histograms are in ns."""

    __slots__ = ("closes_ns", "completed", "errors", "offered", *QUANTITIES)

    def __init__(self, closes_ns: int) -> None:
        self.closes_ns = closes_ns
        self.offered = 0
        self.completed = 0
        self.errors: Counter[str] = Counter()
        self.latency = Histogram()  # from the due time
        self.service = Histogram()  # from the send
        self.slip = Histogram()  # from the earliest possible send to the actual one
        self.censored = Histogram()  # latency so far of what was unfinished at the end

    def document(self) -> dict[str, object]:
        """Counts and histograms as JSON takes them."""
        return {
            "offered": self.offered,
            "completed": self.completed,
            "errors": dict(self.errors),
            **{name: getattr(self, name).document() for name in QUANTITIES},
        }


class Tally:
    """The warm-up and, between each two instants (monotonic ns), a window."""

    def __init__(self, instants_ns: Sequence[int]) -> None:
        self.opens_ns, *closes_ns = instants_ns
        self.closes_ns = closes_ns[-1]
        self.windows = [Window(each) for each in closes_ns]
        self.answered = 0  # answers between first and last instant, whenever they were due
        self._order: Iterator[Window] = iter([Window(self.opens_ns), *self.windows])
        self._window = next(self._order)

    def take(self, due_ns: int) -> Window:
        """Count a request as offered; each is due no earlier than the one before."""
        while due_ns >= self._window.closes_ns:
            self._window = next(self._order)
        self._window.offered += 1
        return self._window

    def settle(self, window: Window, due_ns: int, sent_ns: int, done_ns: int, error: str) -> None:
        """Count how a request ended; an empty `error` is a good answer."""
        if done_ns >= self.closes_ns:
            self.censor(window, due_ns)
        elif error:
            window.errors[error] += 1
        else:
            window.completed += 1
            window.latency.record(done_ns - due_ns)
            window.service.record(done_ns - sent_ns)
            if done_ns >= self.opens_ns:
                self.answered += 1

    def censor(self, window: Window, due_ns: int) -> None:
        """Count a request that is unfinished at the last instant."""
        window.censored.record(self.closes_ns - due_ns)
