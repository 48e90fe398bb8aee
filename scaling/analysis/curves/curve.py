"""What a scaling curve is: its key, its points along N, and the figures of each point."""

from dataclasses import dataclass

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.curves.memory import MemoryKind
from scaling.analysis.statistics.estimate import Estimate
from scaling.analysis.table.groups import CURVE
from scaling.journal.record import Cell, Parameters


@dataclass(frozen=True, slots=True)
class Point:
    """One cell: N workers, and every figure of it over the blocks in which it was valid.

    `speedup` is throughput over that of N = 1 in the same block, `efficiency` is that over N. Of
    the `runs`, `suspect` are marked as such, and `again` are second attempts, because the first was
    invalid or disturbed; `left_out` runs were invalid and are in no figure. `allocator_state` is
    that of the runs; None for mimalloc, which has no states, and where faults are not known.

    `figures` are the measures that tables show, by column
    (`scaling.analysis.table.columns.SHOWN`), in the columns' units. `memory` is what the runs held
    in the window, in MiB. `own` are the workload's own figures, by the names that it gives them
    (`scaling.analysis.table.own_figures`).
    """

    workers: int
    region: str | None
    runs: int
    suspect: int
    again: int
    left_out: int
    allocator_state: str | None
    speedup: Estimate
    efficiency: Estimate
    memory: Estimate
    figures: dict[str, Estimate]
    own: dict[str, Estimate]

    @property
    def throughput(self) -> Estimate:
        """Operations per s of all workers."""
        return self.figures["throughput_per_s"]

    def estimate(self, what: str) -> Estimate:
        """`throughput`, `speedup`, `efficiency`, `memory`, or one of `figures` by its column."""
        found: Estimate = self.figures[what] if what in self.figures else getattr(self, what)
        return found


@dataclass(frozen=True, slots=True)
class Curve:
    """One scaling curve of a study; its `key` is a cell without N.

    Memory is `memory_kind`, RSS or PSS; `slope` is MiB per extra worker.

    `values` are the single runs behind the points, for drawing: one array (blocks × N) each for
    `throughput`, `speedup`, `efficiency`, `memory`, `cpu_s_per_op`, that of each service of a stack
    and `latency_p99_s`, NaN where a run is missing or invalid, and `outlier` and `behind`, 1 where
    a run is one or its P99 is a lower bound.
    """

    study: str
    key: Cell
    points: list[Point]
    slope: Estimate
    memory_kind: MemoryKind
    values: dict[str, Floats]

    @property
    def names(self) -> dict[str, str]:
        """What the runs have in common, by column of the frame; parameters as JSON."""
        texts = {"study": self.study, "parameters": Parameters.of(self.key.parameters).text}
        return {name: texts.get(name) or getattr(self.key, name) for name in CURVE}

    @property
    def workers(self) -> list[int]:
        """The Ns of the points, ascending."""
        return [point.workers for point in self.points]

    def runs(self, measure: str, workers: int) -> Floats:
        """The values of one cell's runs, shape (blocks,); NaN where P99 is only a lower bound."""
        at = self.workers.index(workers)
        values = self.values[measure][:, at]
        if measure == "latency_p99_s":
            values = np.where(self.values["behind"][:, at] == 1, np.nan, values)
        return values

    @property
    def headline_n(self) -> int | None:
        """The N of the curve's headline gain: the largest that has a core for each worker, or the
        largest where only one worker has. None where no N has a gain.
        """
        gains = [point for point in self.points if point.workers > 1 and point.speedup.n]
        on_cores = [point for point in gains if point.region == "cores"]
        return max((point.workers for point in on_cores or gains), default=None)
