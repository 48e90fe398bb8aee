"""Every kind of plot, in the order in which files are written and the page shows them.

To add one, write a module with a `PLOT` and name it here.
"""

from scaling.report.plots import (
    efficiency,
    ladder,
    latency,
    latency_by_workers,
    memory,
    pauses,
    percentiles,
    throughput,
    trade,
    waterfall,
)

PLOTS = (
    throughput.PLOT,
    efficiency.PLOT,
    waterfall.PLOT,
    memory.PLOT,
    ladder.PLOT,
    trade.PLOT,
)
LOAD_PLOTS = (latency.PLOT, percentiles.PLOT, latency_by_workers.PLOT, pauses.PLOT)
BY_NAME = {plot.name: plot for plot in PLOTS}
