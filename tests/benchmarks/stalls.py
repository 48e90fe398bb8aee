"""What was measured of stopped servers, as it is kept, and what theory says of it."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from workers.services.load.tally import Distribution

LOOPS = ("open", "closed")


@dataclass(frozen=True)
class Run:
    """For how long the server was stopped, and a histogram of the latencies, ns."""

    stopped_s: float
    value_ns: Sequence[int]
    count: Sequence[int]


@dataclass(frozen=True)
class Stalls:
    """What was asked for and measured: the contents of `stall.json`."""

    python: str
    seconds: float
    rate_per_s: float
    service_ms: float
    open: Sequence[Run]
    closed: Sequence[Run]

    @classmethod
    def read(cls, folder: Path) -> Self:
        """What an earlier run wrote."""
        found = json.loads((folder / "stall.json").read_text(encoding="utf-8"))
        runs = {loop: [Run(**each) for each in found[loop]] for loop in LOOPS}
        return cls(**{**found, **runs})

    def write(self, folder: Path) -> None:
        """Write `stall.json`, a line per run."""
        found = asdict(self)
        runs = {loop: found.pop(loop) for loop in LOOPS}
        head = json.dumps(found)[1:-1]
        lists = [
            f'"{loop}": [\n{",\n".join(json.dumps(each) for each in several)}\n]'
            for loop, several in runs.items()
        ]
        text = f"{{{head},\n{',\n'.join(lists)}}}\n"
        (folder / "stall.json").write_text(text, encoding="utf-8")

    def latency(self, loop: str) -> Distribution:
        """Of all runs together."""
        return distribution(getattr(self, loop))

    def predicted_ms(self, q: float) -> float:
        """Of the open loop, with the mean of the stops."""
        stopped_s = sum(each.stopped_s for each in self.open) / len(self.open)
        return self._predicted_ms(q, stopped_s)

    def ratios(self, q: float) -> list[float]:
        """Measured over predicted, for each run in the open loop."""
        return [
            measured_ms(distribution([run]), q) / self._predicted_ms(q, run.stopped_s)
            for run in self.open
        ]

    def _predicted_ms(self, q: float, stopped_s: float) -> float:
        load = self.rate_per_s * self.service_ms / 1_000
        waiting_ms = 1_000 * waiting_s(q, stopped_s, self.seconds, load)
        return max(waiting_ms, self.service_ms)


def waiting_s(q: float, stopped_s: float, seconds: float, load: float) -> float:
    """The quantile of a constant schedule's latencies, where a server was stopped for a while.

    A fraction f = stopped / (1 − ρ) of all waits, evenly from 0 to the whole stop.
    """
    affected = stopped_s / seconds / (1 - load)
    return max(0.0, stopped_s * (1 - (1 - q) / affected))


def distribution(runs: Sequence[Run]) -> Distribution:
    """Of several runs together."""
    return Distribution({"value_ns": run.value_ns, "count": run.count} for run in runs)


def measured_ms(latency: Distribution, q: float) -> float:
    """A quantile; 0 of nothing."""
    return latency.quantile_ms(q) or 0.0
