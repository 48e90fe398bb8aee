"""Four kinds of drawings, of frames alone: curves, ratios, stacked bars, scattered points.

Colours, markers and lines are in `scaling.report.render.style`: an arm has one colour, a loop one
marker, a model one line. Matplotlib's constrained layout decides where things stand.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, ScalarFormatter, StrMethodFormatter

from scaling.report.render.grid import Tone
from scaling.report.render.style import (
    BAND_ALPHA,
    BORDER,
    FAINT,
    IDEAL_LINE,
    QUIET,
    RC,
    REGION_SHADES,
    WIDTH_IN,
    line,
    marker_style,
)

PANEL_IN, LEGEND_IN = (3.5, 3.1), 0.7
ROW_IN, HEAD_IN = 0.27, 1.0  # of a drawing of ratios
ASIDE = 0.06  # of the width of a panel: how far dots of runs stand beside their median
TONES: dict[Tone, str] = {"good": "#11673f", "bad": "#a3260b", "open": "#946200", "": QUIET}
RATIO_TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 1, 1.2, 1.4, 2, 3, 5, 10, 20, 50)
DOT_SIZE, MEDIAN_SIZE = 7, 18
LARGE = 8  # ticks: with more, an axis is made logarithmic


@dataclass(frozen=True)
class Curves:
    """Lines over a number. A panel for each value of `panel`.

    `medians` has a row per point: `panel`, `x`, `y`, `low`, `high`, `loop`, `arm`, `model`; `runs`
    the dots: `panel`, `x`, `y`, `arm`. `ideal` lines start at the first point and rise with x, or
    stay level. `band` is the share by which equal cells differ; `regions` are borders with names.
    """

    title: str
    xlabel: str
    ylabel: str
    medians: pd.DataFrame
    runs: pd.DataFrame
    colours: Mapping[str, str]
    ideal: str = ""
    band: float = 0.0
    regions: Sequence[tuple[float, float, str]] = field(default_factory=list)


def curves(what: Curves) -> Figure:
    """A measure over N, a rate or a parameter: runs as dots, medians with bars, a line each."""
    panels = list(dict.fromkeys(what.medians["panel"]))
    with mpl.rc_context(RC):
        size = (max(WIDTH_IN, PANEL_IN[0] * len(panels)), PANEL_IN[1] + LEGEND_IN)
        figure = Figure(figsize=size, layout="constrained")
        every = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axes, panel in zip(every, panels, strict=True):
            own = what.medians[what.medians["panel"] == panel]
            _regions(axes, what)
            _dots(axes, what, panel)
            for _, curve in own.groupby(["arm", "model", "loop"], sort=False, observed=True):
                _curve(axes, curve.sort_values("x"), what)
            axes.set(title=str(panel), xlabel=what.xlabel, ylim=(0, None))
            _ticks(axes, sorted(set(what.medians["x"])))
            axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
        every[0].set_ylabel(what.ylabel)
        _legend(figure, every)
        figure.suptitle(what.title, x=0.01, ha="left", fontsize=11, fontweight="bold")
    return figure


def _ticks(axes: Axes, values: list[float]) -> None:
    """Real values as ticks; a logarithmic axis where they span decades."""
    if len(values) > 1 and values[0] > 0 and values[-1] / values[0] > 2 * LARGE:
        axes.set_xscale("log")
    if len(values) <= LARGE:
        axes.set_xticks(values)
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xticklabels([f"{value:,g}" for value in values])
    else:
        axes.xaxis.set_major_formatter(ScalarFormatter())


def _regions(axes: Axes, what: Curves) -> None:
    """Where N is on the machine: shades behind, with their names above."""
    for start, end, name in what.regions:
        if shade := REGION_SHADES.get(name):
            axes.axvspan(start, end, color=shade, zorder=0)
            axes.axvline(start, color=BORDER, lw=0.7, zorder=0)
        axes.text(
            (start + end) / 2,
            0.99,
            name,
            transform=axes.get_xaxis_transform(),
            ha="center",
            va="top",
            fontsize=7.5,
            color=QUIET,
        )


def _dots(axes: Axes, what: Curves, panel: object) -> None:
    own = what.runs[what.runs["panel"] == panel]
    span = float(np.ptp(what.medians["x"])) or 1.0
    colours = [what.colours.get(str(arm), QUIET) for arm in own["arm"]]
    axes.scatter(
        own["x"] + ASIDE * span, own["y"], s=DOT_SIZE, c=colours, alpha=0.35, linewidth=0, zorder=2
    )


def _curve(axes: Axes, curve: pd.DataFrame, what: Curves) -> None:
    """The medians of one arm and model, with bars from low to high, band and ideal line."""
    arm, model, loop = (str(curve[name].iloc[0]) for name in ("arm", "model", "loop"))
    colour, x, y = what.colours.get(arm, QUIET), curve["x"], curve["y"]
    if what.band and len(curve) > 1:
        low, high = y / (1 + what.band), y * (1 + what.band)
        axes.fill_between(x, low, high, color=colour, alpha=BAND_ALPHA, lw=0, zorder=1)
    if what.ideal and len(curve) > 1:
        first = float(y.iloc[0])
        ends = np.array([x.iloc[0], x.iloc[-1]])
        steep = ends / ends[0] if what.ideal == "rising" else np.ones(2)
        axes.plot(ends, first * steep, color=FAINT, lw=0.9, ls=IDEAL_LINE, zorder=1)
    bars = np.array([y - curve["low"], curve["high"] - y]).clip(min=0)
    style = marker_style(loop, model, colour)
    style |= {"color": colour, "ls": line(model), "lw": 1.5, "elinewidth": 0.9, "capsize": 2.2}
    axes.errorbar(x, y, yerr=np.nan_to_num(bars), label=f"{arm} {model}", zorder=3, **style)


def _legend(figure: Figure, every: Sequence[Axes]) -> None:
    shown = [axes.get_legend_handles_labels() for axes in every]
    key = {label: handle for both in shown for handle, label in zip(*both, strict=True)}
    handles = [each[0] if isinstance(each, ErrorbarContainer) else each for each in key.values()]
    figure.legend(handles, list(key), loc="outside lower left", ncols=4)


def ratios(title: str, rows: pd.DataFrame) -> Figure:
    """Ratios as points with their intervals, one below the other.

    `rows`: `name`, `ratio`, `low`, `high`, `tone`, `said` (what stands to the right).
    """
    with mpl.rc_context(RC):
        figure = Figure(figsize=(WIDTH_IN, HEAD_IN + ROW_IN * len(rows)), layout="constrained")
        axes = figure.subplots()
        places = -np.arange(len(rows))
        colours = [TONES[tone] for tone in rows["tone"]]
        axes.axvline(1, color=FAINT, zorder=0)
        axes.hlines(places, rows["low"], rows["high"], color=colours, lw=1.6)
        axes.scatter(rows["ratio"], places, color=colours, s=MEDIAN_SIZE, zorder=3)
        axes.set(yticks=places, xscale="log", ylim=(places[-1] - 0.7, 0.7))
        axes.set_yticklabels(rows["name"])
        axes.grid(axis="x")
        inside = [t for t in RATIO_TICKS if rows["low"].min() <= t <= rows["high"].max()]
        axes.set_xticks(inside or [1])
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}×"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        beside = axes.secondary_yaxis("right")
        beside.set_yticks(places, labels=rows["said"])
        beside.tick_params(length=0)
        beside.spines["right"].set_visible(False)
        figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
    return figure


def stacks(title: str, ylabel: str, rows: pd.DataFrame, colours: Sequence[str]) -> Figure:
    """Stacked bars: a row of `rows` each, a column for each part; what is below 0 is a gain."""
    with mpl.rc_context(RC):
        height = HEAD_IN + 1.4 * ROW_IN * len(rows) + LEGEND_IN
        figure = Figure(figsize=(WIDTH_IN, height), layout="constrained")
        axes = figure.subplots()
        places = -np.arange(len(rows))
        above, below = np.zeros(len(rows)), np.zeros(len(rows))
        for part, colour in zip(rows, colours, strict=False):
            values = rows[part].fillna(0).to_numpy()
            start = np.where(values >= 0, above, below)
            how: dict[str, Any] = {"height": 0.62, "linewidth": 0.4, "label": str(part)}
            axes.barh(places, values, left=start, color=colour, **how)
            above, below = above + values.clip(min=0), below + values.clip(max=0)
        axes.axvline(0, color=QUIET, lw=0.8)
        axes.set(yticks=places, xlabel=ylabel, ylim=(places[-1] - 0.7, 0.7))
        axes.set_yticklabels(rows.index)
        axes.grid(axis="x")
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
        figure.legend(loc="outside lower left", ncols=4)
        figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
    return figure


def points(
    title: str, xlabel: str, ylabel: str, rows: pd.DataFrame, colours: Mapping[str, str]
) -> Figure:
    """Two measures against each other, with both intervals.

    `rows`: `x`, `x_low`, `x_high`, `y`, `y_low`, `y_high`, `arm`, `model`, `loop`, `text`.
    """
    with mpl.rc_context(RC):
        figure = Figure(figsize=(WIDTH_IN, PANEL_IN[1] + LEGEND_IN + 0.6), layout="constrained")
        axes = figure.subplots()
        for (arm, model, loop), own in rows.groupby(["arm", "model", "loop"], sort=False):
            colour = colours.get(str(arm), QUIET)
            style = marker_style(str(loop), str(model), colour)
            bars: dict[str, Any] = {
                f"{axis}err": np.array(
                    [own[axis] - own[f"{axis}_low"], own[f"{axis}_high"] - own[axis]]
                ).clip(min=0)
                for axis in ("x", "y")
            }
            how: dict[str, Any] = {"color": colour, "ls": line(str(model)), "lw": 0.8}
            label = f"{arm} {model}"
            axes.errorbar(own["x"], own["y"], label=label, elinewidth=0.9, **bars, **how, **style)
            for each in own.itertuples():
                at: Any = (each.x, each.y)
                axes.annotate(
                    str(each.text), at, xytext=(4, 4), textcoords="offset points", fontsize=7
                )
        axes.set(xlabel=xlabel, ylabel=ylabel, ylim=(0, None), xlim=(0, None))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
        _legend(figure, [axes])
        figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
    return figure
