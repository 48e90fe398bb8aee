"""Ratios with their intervals under each other, and the noise around 1: the picture of an answer.

Not one of the plots by section: it shows the headline ratios of a whole study.
"""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator

from scaling.analysis.statistics.verdict import reach
from scaling.report.plots.panel import median_words
from scaling.report.plots.sheet import Layout, Sheet, new_sheet, wrapped
from scaling.report.plots.style import BAND_ALPHA, INK, QUIET
from scaling.report.plots.svg import say
from scaling.report.tables.findings import Finding, bounds_heading

LINE_IN, BETWEEN_IN, LONGEST_IN = 0.14, 0.12, 4.4
LABEL_SIZE = 8.5  # points
MOST_TICKS = 8
FAR_APART = 10  # highest over lowest ratio
BETTER, WORSE = "#0173b2", "#d55e00"  # as the arms' blue and red
COLOURS = {"faster": BETTER, "less": BETTER, "slower": WORSE, "more": WORSE, "same": INK}


def draw(found: Sequence[Finding], caption: str, what: str = "throughput") -> Sheet:
    """The sheet: a row for each ratio, in the order of the table; `what` they are ratios of."""
    marks = dict.fromkeys(each.ratio.verdict.word for each in found)
    key = [
        Line2D([], [], color=COLOURS.get(word, QUIET), marker="o", ls="-", lw=1.4, label=word)
        for word in marks
    ]
    band = Line2D([], [], color=QUIET, lw=8, alpha=2 * BAND_ALPHA, solid_capstyle="butt")
    band.set_label("margin of the verdict")
    most = max(_label(each.question).count("\n") + 1 for each in found)
    row_in = most * LINE_IN + BETWEEN_IN
    layout = Layout(1, 1, panel_in=row_in * len(found) + 0.1)
    kind = bounds_heading(each.ratio for each in found)
    sheet = new_sheet(f"Ratios of {what}", f"median and {kind}", [*key, band], caption, layout)
    (axes,) = sheet.all_panels
    for place, each in enumerate(found):
        _row(axes, place, each)
    axes.axvline(1.0, color=INK, lw=0.9, zorder=1)
    axes.set_ylim(len(found) - 0.5, -0.5)
    axes.set_yticks(range(len(found)), [_label(each.question) for each in found])
    axes.grid(visible=False)
    _finish_x(axes, found)
    return sheet


def _row(axes: Axes, place: int, each: Finding) -> None:
    value, (low, high) = each.ratio, reach(each.ratio.verdict.margin)
    colour = COLOURS.get(value.verdict.word, QUIET)
    band = axes.barh(place, high - low, 0.8, left=low, color=QUIET, alpha=BAND_ALPHA, lw=0)
    band.patches[0].set_gid("noise")
    axes.plot([value.low, value.high], [place, place], color=colour, lw=1.6, zorder=3)
    (mark,) = axes.plot(
        [value.point], [place], color=colour, marker="o", ms=5, mec="white", zorder=4, gid="ratio"
    )
    say(mark, [f"{median_words(each.question, value)}, {value.verdict.word}"])


def _finish_x(axes: Axes, found: Sequence[Finding]) -> None:
    """Limits and ticks; logarithmic where ratios are so far apart that those below 1 would be one
    point.
    """
    low = min(1.0, *(each.ratio.low for each in found))
    high = max(1.0, *(each.ratio.high for each in found))
    if 0 < low < high / FAR_APART:
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_locator(LogLocator(base=2, numticks=MOST_TICKS))
        axes.set_xlim(low / 1.15, high * 1.15)
        axes.set_xlabel("ratio (1 is equal; logarithmic)")
    else:
        beyond = 0.06 * (high - low) or 0.1
        axes.xaxis.set_major_locator(MaxNLocator(MOST_TICKS, steps=[1, 2, 2.5, 5, 10]))
        axes.set_xlim(max(0.0, low - beyond), high + beyond)
        axes.set_xlabel("ratio (1 is equal)")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}×"))


def _label(question: str) -> str:
    """The whole question: without its arm and model a ratio means nothing."""
    return "\n".join(wrapped(question, LABEL_SIZE, LONGEST_IN))
