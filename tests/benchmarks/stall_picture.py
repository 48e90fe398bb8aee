"""Draws `stall.svg` from the `stall.json` beside it: `python -m tests.benchmarks.stall_picture`."""

import sys
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from scaling.report.plots.latency import finish_latency_axis
from scaling.report.plots.sheet import Layout, new_sheet
from scaling.report.plots.style import IDEAL_LINE, INK, RC, SPARE
from tests.benchmarks.stalls import Stalls, measured_ms
from tests.support.children import ROOT
from workers.services.load.tally import BEYOND, Distribution

PUBLISHED = ROOT / "results" / "published" / "stall"
SHARES = {"P50": 0.5, "P90": 0.9, "P95": 0.95, "P99": 0.99, "P99.9": 0.999}
LIMITS_MS = (1.0, 2_000.0)
LAST = 2_500  # 1 / (1 − share)
STYLES: dict[str, dict[str, Any]] = {
    "open loop": {"color": SPARE[0], "lw": 1.8, "zorder": 4},
    "closed loop": {"color": SPARE[3], "lw": 1.8, "zorder": 3},
    "open loop, predicted": {"color": INK, "lw": 1.2, "ls": IDEAL_LINE, "zorder": 5},
}


def draw(folder: Path, *formats: str) -> list[Path]:
    """Write the picture beside its data, as SVG unless `formats` say otherwise."""
    found = Stalls.read(folder)
    with mpl.rc_context(RC):
        key = [Line2D([], [], label=label, **style) for label, style in STYLES.items()]
        sheet = new_sheet(
            f"A server that stands still for {found.open[0].stopped_s:.2g} s of {found.seconds:g}",
            f"latency by percentile; a request takes {found.service_ms:g} ms, one at a time",
            key,
            caption(found),
            Layout(1, 1, panel_in=3.0),
        )
        (axes,) = sheet.all_panels
        for loop in ("open", "closed"):
            x, y = beyond(found.latency(loop))
            axes.plot(x, y, gid=loop, **STYLES[f"{loop} loop"])
        places = np.geomspace(1, LAST, 400).tolist()
        predicted = [found.predicted_ms(1 - 1 / each) for each in places]
        axes.plot(places, predicted, gid="predicted", **STYLES["open loop, predicted"])
        title = f"{len(found.open)} runs in each loop"
        axes.set_title(title, loc="left", pad=7, color=INK, fontweight="bold")
        finish_latency_axis(axes, "latency, ms", LIMITS_MS)
        _finish_shares(axes)
        return sheet.save(folder / "stall", formats or ("svg",))


def beyond(latency: Distribution) -> tuple[Sequence[float], Sequence[float]]:
    """Each latency, ms, over 1 / (1 − share) of what is below; to where 20 samples are beyond."""
    document = latency.document()
    below = accumulate(document["count"], initial=0)
    shares = [each / latency.n for each in below if latency.n - each >= BEYOND]
    values = [edge_ns / 1e6 for edge_ns in document["value_ns"][: len(shares)]]
    return [1 / (1 - share) for share in shares], values


def caption(found: Stalls) -> str:
    """What was done, and what each line leaves out."""
    longest_ms = measured_ms(found.latency("closed"), 1.0)
    return (
        f"The server is stopped with SIGSTOP once per run. Open loop: {found.rate_per_s:g} "
        "requests/s are due at a constant rate, and latency counts from there. Closed loop: one "
        "connection sends a request when the last one is answered, so one request per run waits: "
        f"{len(found.closed)} of {found.latency('closed').n:,}, the longest for "
        f"{longest_ms:,.0f} ms. Lines end where fewer than {BEYOND} requests took longer. "
        "Predicted: a fraction f = 0.1 / (1 − ρ) waits, evenly from 0 to the whole stop; "
        f"ρ = {found.rate_per_s * found.service_ms / 1_000:g}. CPython {found.python}"
    )


def _finish_shares(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.set_xlim(1, LAST)
    axes.set_xticks([1 / (1 - share) for share in SHARES.values()], list(SHARES))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("share of requests, as 1 / (1 − share)")


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if sys.argv[1:] else PUBLISHED)
