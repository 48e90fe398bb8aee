"""Finite runs for journals that are made without measuring."""

from collections.abc import Callable, Mapping

from scaling.journal.record import Latency, RunLine, Ticks, WorkerRecord
from tests.support.fabricate import STARTED_NS, with_

RELEASED_NS = STARTED_NS + 1_000_000_000

type Figures = Mapping[str, float]


def finite(
    took_s: Callable[[RunLine], float],
    operations: int = 1_000,
    figures: Callable[[RunLine], Figures] = lambda _: {},
    latency: Latency | None = None,
) -> Callable[[RunLine], RunLine]:
    """Makes a finite run of a windowed one: each worker does `operations` in `took_s`.

    Its figures, and the latencies of its operations, are every worker's.
    """

    def changed(run: RunLine) -> RunLine:
        finished_ns = RELEASED_NS + round(took_s(run) * 1e9)
        workers = [
            WorkerRecord(
                index=index,
                ticks=Ticks(
                    instant_ns=[RELEASED_NS, finished_ns],
                    time_ns=[RELEASED_NS + 1_000, finished_ns],
                    operations=[0, operations],
                    errors=[0, 0],
                    bytes=[0, 0],
                    cpu_ns=[0, (finished_ns - RELEASED_NS) // 2],
                    minor_faults=[0, operations],
                ),
                released_ns=RELEASED_NS,
                started_ns=RELEASED_NS + 1_000,
                finished_ns=finished_ns,
                figures=dict(figures(run)),
                latency=latency,
            )
            for index in range(run.cell.workers)
        ]
        return with_(run, record__finite=True, record__workers=workers)

    return changed
