"""Latency against N, a line for each arm and model, a panel for each rate.

All workers together are offered the same rate: what more of them are worth to a client.
"""

from itertools import groupby, product

from scaling.base import formats
from scaling.report.plots.load_subject import LoadSubject
from scaling.report.plots.panel import finish_workers
from scaling.report.plots.plot import LoadPlot
from scaling.report.plots.rates import (
    ROWS,
    any_known,
    draw_latencies,
    draw_objectives,
    estimates_ms,
    few,
    finish_latency_axis,
    limits_ms,
    load_key,
)
from scaling.report.plots.sheet import Layout, Sheet
from scaling.report.plots.style import INK
from scaling.report.tables.questions.rates import rate_grids


def draw(subject: LoadSubject) -> Sheet:
    """The sheet: P99 above P50; of many rates the lowest, the middle one and the highest."""
    rated = subject.rated
    rows = [row for row in ROWS if any_known(rated.lines, [row[0]])]
    rates = few(rated.rates_per_s)
    columns = len(rates) if len(rates) > 1 else len(rows)
    layout = Layout(
        len(rated.loops) * len(rows) * len(rates), columns, labels_everywhere=len(rates) == 1
    )
    drawn = [at for line in rated.lines for rate in rates if (at := line.at(rate))]
    values = {column: estimates_ms(drawn, column) for column, _ in rows}
    sheet = subject.sheet(
        "latency against N",
        layout,
        [value for column in values for value in values[column]],
        load_key(subject, drawn),
    )
    every = list(product(rated.loops, rows, rates))
    for place, (axes, (loop, (column, name), rate)) in enumerate(
        zip(sheet.all_panels, every, strict=True)
    ):
        objectives = subject.objectives_s.get(column, [])
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
        draw_objectives(axes, objectives)
        first = place % columns == 0
        limits = limits_ms(values[column], objectives)
        finish_latency_axis(axes, f"{name}, ms" if first or len(rates) == 1 else "", limits)
        finish_workers(axes, subject.about)
        several = f"{loop}: " if len(rated.loops) > 1 else ""
        title = f"{several}{name} at {formats.number(rate)}/s"
        pad = 17 if len(subject.about.regions) > 1 else 7
        axes.set_title(title, loc="left", pad=pad, color=INK, fontweight="bold")
    return sheet


def is_there(subject: LoadSubject) -> bool:
    """Whether latencies are known at several Ns."""
    known = {
        line.workers
        for line in subject.rated.lines
        if any_known([line], [column for column, _ in ROWS])
    }
    return len(known) > 1


PLOT = LoadPlot("latency-by-workers", draw, is_there, lambda subject: rate_grids(subject.rated))
