"""Latency against N, a line for each arm and model, a panel for each rate.

All workers together are offered the same rate: what more of them are worth to a client.
"""

from itertools import groupby

from scaling.base.formats import number
from scaling.report.plots.load_subject import LoadSubject
from scaling.report.plots.panel import finish_workers
from scaling.report.plots.plot import LoadPlot
from scaling.report.plots.rates import (
    ROWS,
    LatencyPanels,
    any_known,
    draw_latencies,
    estimates_ms,
    few,
)
from scaling.report.plots.sheet import Sheet
from scaling.report.tables.questions.rates import rate_grids


def draw(subject: LoadSubject) -> Sheet:
    """The sheet: P99 above P50; of many rates the lowest, the middle one and the highest."""
    rated = subject.rated
    rates = few(rated.rates_per_s)
    drawn = [at for line in rated.lines for rate in rates if (at := line.at(rate))]
    panels = LatencyPanels(subject, "latency against N", rates, drawn)
    pad = 17 if len(subject.about.regions) > 1 else 7
    for axes, loop, column, rate in panels.each(lambda rate: f" at {number(rate)}/s", pad):
        own = [line for line in rated.lines if line.key.loop == loop and line.at(rate)]
        for key, lines in groupby(own, key=lambda line: line.key):
            pairs = [(line.workers, line.at(rate)) for line in lines]
            known = [(n, at) for n, at in pairs if at is not None]
            draw_latencies(
                axes,
                [n for n, _ in known],
                estimates_ms([at for _, at in known], column),
                [at.is_bound for _, at in known],
                key,
                subject.about.colours[key.arm],
            )
        finish_workers(axes, subject.about)
    return panels.sheet


def is_there(subject: LoadSubject) -> bool:
    """Whether latencies are known at several Ns."""
    known = {
        line.workers
        for line in subject.rated.lines
        if any_known([line], [column for column, _ in ROWS])
    }
    return len(known) > 1


PLOT = LoadPlot("latency-by-workers", draw, is_there, lambda subject: rate_grids(subject.rated))
