"""Drawings of frames alone: curves, ratios below or beside each other, stacked bars, points.

Colours, markers and lines are in `scaling.report.render.style`: an arm has one colour, a loop one
marker, a model one line. Matplotlib's constrained layout decides where things stand. A drawing also
says in words what is seen, for those who cannot see it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, NullLocator, StrMethodFormatter

from scaling.base.formats import number, span
from scaling.report.render.grid import Tone
from scaling.report.render.sheet import finish, line_key, sheet, with_key
from scaling.report.render.style import (
    BAND_ALPHA,
    BORDER,
    CEILING,
    FAINT,
    IDEAL_LINE,
    INK,
    QUIET,
    RC,
    REGION_SHADES,
    line,
    marker_style,
)

PANEL_IN, HEAD_IN, ROW_IN = 2.7, 1.4, 0.27
APART = 0.11  # of an axis, from one tick to the next
WORDED_ROW_IN = 0.4  # of a row with its words above it
ASIDE = 0.04  # of the width of a panel: how far dots of runs stand beside their median
TONES: dict[Tone, str] = {"good": "#11673f", "bad": "#a3260b", "open": "#946200", "": QUIET}
RATIO_TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 1, 1.2, 1.4, 2, 3, 5, 10, 20, 50)
DOT_SIZE, MEDIAN_SIZE = 7, 18
DECADES = 20  # largest over smallest: from there on a linear axis has no room for the small ones
HEAD_ROOM = 1.08  # of the y axis, above the highest figure
MOST_SAID = 16  # figures that a description has
NARROW = {"oversubscribed": "oversub."}  # names of regions in a panel that is one of many


@dataclass(frozen=True)
class Picture:
    """A drawing, and what is seen on it in words."""

    figure: Figure
    description: str


@dataclass(frozen=True)
class Curves:
    """Lines over a number or over words: a row of panels for each `row`, one for each `panel`.

    `medians` has a row per point: `row`, `panel`, `x`, `y`, `low`, `high`, `bound` (other than 0
    for one that is a bound), `loop`, `arm`, `model`; `runs` the dots: `row`, `panel`, `x`, `y`,
    `arm`. `words` are the labels of x where these are no numbers; lines do not join them. `ideal`
    lines start at the first point and rise with x, or stay level. `ceiling` has `row`, `x` and `y`
    of what is drawn behind every panel of a row. `band` is the share by which equal cells differ,
    `regions` are borders with names, `limits` levels that are drawn across.
    """

    title: str
    caption: str
    xlabel: str
    ylabel: str
    medians: pd.DataFrame
    runs: pd.DataFrame
    colours: Mapping[str, str]
    words: Sequence[str] = ()
    ideal: str = ""
    ceiling: pd.DataFrame | None = None
    band: float = 0.0
    regions: Sequence[tuple[float, float, str]] = field(default_factory=list)
    limits: Sequence[float] = ()
    log_x: bool = False


def curves(what: Curves) -> Picture:
    """A measure over N, a rate or a parameter: runs as dots, medians with bars, a line each."""
    rows, columns = (list(dict.fromkeys(what.medians[name])) for name in ("row", "panel"))
    with mpl.rc_context(RC):
        figure = sheet(HEAD_IN + PANEL_IN * len(rows))
        every = figure.subplots(len(rows), len(columns), sharey=True, squeeze=False)
        for (row, panel), axes in zip(product(rows, columns), every.flat, strict=True):
            own = what.medians[(what.medians["row"] == row) & (what.medians["panel"] == panel)]
            if own.empty:
                axes.set_axis_off()
                continue
            _panel(axes, what, own, is_narrow=len(columns) > 2)
            named = [each for each, all_ in ((row, rows), (panel, columns)) if len(all_) > 1]
            axes.set_title(": ".join(map(str, named)))
        _y_axis(every[0, 0], what)
        for axes in every[:, 0]:
            axes.set_ylabel(what.ylabel)
        with_key(figure, what.title, _key(what))
        finish(figure, what.caption)
    return Picture(figure, _described(what))


def _panel(axes: Axes, what: Curves, own: pd.DataFrame, *, is_narrow: bool) -> None:
    row, panel = own["row"].iloc[0], own["panel"].iloc[0]
    for start, end, name in what.regions:
        _region(axes, start, end, name, is_narrow=is_narrow)
    if what.ceiling is not None:
        ceiling = what.ceiling[what.ceiling["row"] == row].sort_values("x")
        axes.plot(ceiling["x"], ceiling["y"], color=CEILING, lw=5, alpha=0.6, zorder=1)
    for limit in what.limits:
        axes.axhline(limit, color=INK, lw=0.9, ls=IDEAL_LINE, zorder=1)
    for _, curve in own.groupby(["arm", "model", "loop"], sort=False, observed=True):
        _curve(axes, curve.sort_values("x"), what)
    dots = what.runs[(what.runs["row"] == row) & (what.runs["panel"] == panel)]
    wide = float(np.ptp(what.medians["x"])) or 1.0
    is_log = _x_axis(axes, what)
    beside = dots["x"] * (1 + ASIDE) if is_log else dots["x"] + ASIDE * wide
    colours = [what.colours.get(str(arm), QUIET) for arm in dots["arm"]]
    axes.scatter(beside, dots["y"], s=DOT_SIZE, c=colours, alpha=0.35, linewidth=0, zorder=2)


def _x_axis(axes: Axes, what: Curves) -> bool:
    """Label real values; whether the axis is logarithmic, as it is where they span decades."""
    axes.set_xlabel(what.xlabel)
    values = sorted(set(what.medians["x"]))
    if what.words:
        axes.set_xticks(range(len(what.words)), what.words, rotation=20, ha="right")
        axes.set_xlim(-0.5, len(what.words) - 0.5)
        return False
    is_log = values[0] > 0 and (what.log_x or values[-1] / values[0] > DECADES)
    if is_log:
        axes.set_xscale("log")
    axes.xaxis.set_minor_locator(NullLocator())
    ticks = _apart(values, np.log if is_log else np.asarray)
    axes.set_xticks(ticks, [f"{value:,g}" for value in ticks])
    return is_log


def _apart(
    values: Sequence[float], scale: Callable[[Any], Any], first: int = 0, share: float = APART
) -> list[float]:
    """Those of some values that are far enough from each other on a scale to be labelled."""
    wide = float(np.ptp(scale(np.array(values)))) or 1.0
    kept = [values[first]]
    for value in values:
        if min(abs(scale(value) - scale(each)) for each in kept) > share * wide:
            kept.append(value)
    return sorted(kept)


def _y_axis(axes: Axes, what: Curves) -> None:
    """From 0 to just above the highest figure; logarithmic where medians span decades."""
    medians = what.medians["y"]
    if medians.min() > 0 and medians.max() / medians.min() > DECADES:
        axes.set_yscale("log")
    else:
        highest = pd.concat([what.medians["high"], what.runs["y"]]).max()
        axes.set_ylim(0, HEAD_ROOM * highest or 1)
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))


def _region(axes: Axes, start: float, end: float, name: str, *, is_narrow: bool) -> None:
    """Draw a region of the machine: a shade behind, with its name above."""
    if shade := REGION_SHADES.get(name):
        axes.axvspan(start, end, color=shade, zorder=0)
        axes.axvline(start, color=BORDER, lw=0.7, zorder=0)
    axes.annotate(
        NARROW.get(name, name) if is_narrow else name,
        ((start + end) / 2, 1),
        xycoords=axes.get_xaxis_transform(),
        xytext=(0, -2),
        textcoords="offset points",
        ha="center",
        va="top",
        fontsize=7.5,
        color=QUIET,
    )


def _curve(axes: Axes, curve: pd.DataFrame, what: Curves) -> None:
    """The medians of one arm and model, with bars from low to high, band and ideal line."""
    arm, model, loop = (str(curve[name].iloc[0]) for name in ("arm", "model", "loop"))
    colour, x, y = what.colours.get(arm, QUIET), curve["x"], curve["y"]
    if what.band and len(curve) > 1 and not what.words:
        low, high = y / (1 + what.band), y * (1 + what.band)
        axes.fill_between(x, low, high, color=colour, alpha=BAND_ALPHA, lw=0, zorder=1)
    if what.ideal and len(curve) > 1:
        ends = np.array([x.iloc[0], x.iloc[-1]])
        steep = ends / ends[0] if what.ideal == "rising" else np.ones(2)
        axes.plot(ends, y.iloc[0] * steep, color=colour, lw=0.8, ls=IDEAL_LINE, zorder=1)
    bars = np.nan_to_num(np.array([y - curve["low"], curve["high"] - y]).clip(min=0))
    style = marker_style(loop, model, colour)
    own_line = "none" if what.words else line(model)
    style |= {"color": colour, "ls": own_line, "lw": 1.5, "elinewidth": 0.9, "capsize": 2.2}
    axes.errorbar(x, y, yerr=bars, zorder=3, **style)
    bounds = curve[curve["bound"] != 0]
    hollow = style | {"mfc": "white", "mec": colour, "mew": 1.1, "ls": "none"}
    axes.plot(bounds["x"], bounds["y"], zorder=4, **{k: hollow[k] for k in _MARK & hollow.keys()})


_MARK = {"marker", "ms", "mfc", "mec", "mew", "ls", "color"}


def _key(what: Curves) -> list[tuple[Any, str]]:
    """The key: arms by colour, models by line, and what else is drawn."""
    arms, models = (list(dict.fromkeys(what.medians[name])) for name in ("arm", "model"))
    found = [line_key(str(arm), color=what.colours.get(str(arm), QUIET)) for arm in arms]
    if len(models) > 1 and not what.words:
        found += [
            line_key(str(model), color=QUIET, ls=line(str(model)), lw=1.5) for model in models
        ]
    found.append(line_key("one run", color=FAINT, marker="o", ms=3, ls="none"))
    found.append(line_key("median, 95 % interval", color=QUIET, marker="BAR", ls="none"))
    if (what.medians["bound"] != 0).any():
        found.append(line_key("bound", color=QUIET, marker="o", mfc="white", ms=5, ls="none"))
    if what.ideal:
        found.append(line_key("ideal", color=QUIET, ls=IDEAL_LINE, lw=0.8))
    if what.band:
        share = f"A/A: equal cells differ by up to ±{100 * what.band:.2g} %"
        found.append(line_key(share, color=QUIET, lw=6, alpha=BAND_ALPHA))
    if what.ceiling is not None:
        found.append(line_key("best processes", color=CEILING, lw=5, alpha=0.6))
    if what.limits:
        found.append(line_key("objective", color=INK, lw=0.9, ls=IDEAL_LINE))
    return found


def _described(what: Curves) -> str:
    about = ["row", "panel", "arm", "model"]
    lines = []
    for key, curve in what.medians.groupby(about, sort=False, observed=True):
        names = dict.fromkeys(str(each) for each in key if str(each))
        points = [
            f"{number(y)} at {_at(what, x)}" for x, y in zip(curve["x"], curve["y"], strict=True)
        ]
        lines.append(f"{' · '.join(names)}: {', '.join(points)}")
    return _said(f"{what.ylabel} over {what.xlabel}.", lines)


def _at(what: Curves, x: float) -> str:
    return what.words[int(x)] if what.words else f"{x:,g}"


def _said(head: str, lines: Iterable[str]) -> str:
    """The first lines in words, and how many there are besides."""
    every = list(lines)
    more = f" And {len(every) - MOST_SAID} more." if len(every) > MOST_SAID else ""
    return f"{head} {'; '.join(every[:MOST_SAID])}.{more}"


# ------------------------------------------------------------------------------------------ ratios


def ratios(title: str, caption: str, rows: pd.DataFrame, colours: Mapping[str, str]) -> Picture:
    """Ratios as points with their intervals, one below the other.

    `rows`: `name`, `ratio`, `low`, `high`, `tone`, `said` (what stands to the right), `arm`.
    Several of one name stand on one line, an arm in its colour each.
    """
    names = list(dict.fromkeys(rows["name"]))
    is_shared = len(names) < len(rows)
    arms = list(dict.fromkeys(rows["arm"]))
    apart = 0.6 / max(1, len(arms) - 1)
    shift = {arm: 0.3 - apart * at if is_shared else 0.0 for at, arm in enumerate(arms)}
    places = np.array(
        [shift[row.arm] - names.index(row.name) for row in rows.itertuples(index=False)]
    )
    shown = [colours.get(str(arm), QUIET) for arm in rows["arm"]]
    shown = shown if is_shared else [TONES[tone] for tone in rows["tone"]]
    with mpl.rc_context(RC):
        figure = sheet(HEAD_IN + ROW_IN * len(names) * (1.6 if is_shared else 1))
        axes = figure.subplots()
        _intervals(axes, rows, places, shown)
        axes.set(ylim=(0.3 - len(names), 0.7))
        axes.set_yticks(-np.arange(len(names)), names)
        if is_shared:
            key = [line_key(str(arm), color=colours.get(str(arm), QUIET)) for arm in arms]
            with_key(figure, title, key)
        else:
            with_key(figure, title, [])
            beside = axes.secondary_yaxis("right")
            beside.set_yticks(-np.arange(len(names)), labels=rows["said"])
            beside.tick_params(length=0)
            beside.spines["right"].set_visible(False)
        finish(figure, caption)
    lines = (
        f"{row.name}: {number(row.ratio)}× ({span(number(row.low), number(row.high))})"
        + f", {row.said}" * bool(row.said)
        for row in rows.itertuples(index=False)
    )
    return Picture(figure, _said("Ratios with their intervals.", lines))


def _intervals(
    axes: Axes, rows: pd.DataFrame, places: Any, colours: Sequence[str], share: float = APART
) -> None:
    """Ratios on a logarithmic axis: medians with their intervals, one place below the other."""
    axes.axvline(1, color=FAINT, zorder=0)
    axes.hlines(places, rows["low"], rows["high"], color=colours, lw=1.6)
    axes.scatter(rows["ratio"], places, color=colours, s=MEDIAN_SIZE, zorder=3)
    axes.set_xscale("log")
    axes.grid(visible=False, axis="y")
    axes.grid(visible=True, axis="x")
    axes.set_xticks(_ratio_ticks(rows["low"].min(), rows["high"].max(), share))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}×"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _ratio_ticks(low: float, high: float, share: float = APART) -> list[float]:
    """1, and round ratios far enough from each other to be read on a logarithmic axis."""
    ticks = [tick for tick in RATIO_TICKS if min(low, 1) <= tick <= max(high, 1)]
    return _apart(ticks, np.log, first=ticks.index(1), share=share)


def columns(title: str, caption: str, rows: pd.DataFrame) -> Picture:
    """Ratios as points with their intervals and words: a line for each `name`, a column for each
    `panel`.

    `rows`: `name`, `panel`, `ratio`, `low`, `high`, `tone`, `said`.
    """
    names, panels = (list(dict.fromkeys(rows[name])) for name in ("name", "panel"))
    with mpl.rc_context(RC):
        figure = sheet(HEAD_IN + WORDED_ROW_IN * len(names))
        every = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axes, panel in zip(every, panels, strict=True):
            own = rows[rows["panel"] == panel]
            places = -np.array([names.index(name) for name in own["name"]])
            shown = [TONES[tone] for tone in own["tone"]]
            _intervals(axes, own, places, shown, 3 * APART / 2)
            for place, said, colour in zip(places, own["said"], shown, strict=True):
                at = {"xycoords": axes.get_yaxis_transform(), "color": colour, "fontsize": 6.8}
                axes.annotate(said, (0.02, place + 0.22), va="bottom", **at)
            axes.set(title=panel)
        every[0].set(ylim=(0.5 - len(names), 0.8))
        every[0].set_yticks(-np.arange(len(names)), names)
        with_key(figure, title, [])
        finish(figure, caption)
    lines = (
        f"{row.name}, {row.panel}: {number(row.ratio)}× ({row.said})"
        for row in rows.itertuples(index=False)
    )
    return Picture(figure, _said("Ratios with their intervals.", lines))


# ---------------------------------------------------------------------------------- stacks, points


def stacks(
    title: str, caption: str, xlabel: str, rows: pd.DataFrame, colours: Sequence[str]
) -> Picture:
    """Stacked bars: a row of `rows` each, a column for each part; what is below 0 is a gain.

    `low` and `high` are the interval of the whole.
    """
    parts = rows.drop(columns=["low", "high"])
    places = -np.arange(len(rows))
    with mpl.rc_context(RC):
        figure = sheet(HEAD_IN + 0.8 + 1.3 * ROW_IN * len(rows))
        axes = figure.subplots()
        above, below = np.zeros(len(rows)), np.zeros(len(rows))
        key = []
        for part, colour in zip(parts, colours, strict=False):
            values = rows[part].fillna(0).to_numpy()
            start = np.where(values >= 0, above, below)
            axes.barh(places, values, left=start, color=colour, height=0.62, linewidth=0.4)
            above, below = above + values.clip(min=0), below + values.clip(max=0)
            key.append(line_key(str(part), color=colour, lw=6))
        axes.hlines(places, rows["low"], rows["high"], color=INK, lw=1)
        key.append(line_key("the whole, 95 % interval", color=INK, lw=1))
        axes.axvline(0, color=QUIET, lw=0.8)
        axes.set(xlabel=xlabel, ylim=(0.3 - len(rows), 0.7))
        axes.set_yticks(places, rows.index)
        axes.grid(visible=False, axis="y")
        axes.grid(visible=True, axis="x")
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
        with_key(figure, title, key)
        finish(figure, caption)
    lines = [
        f"{name}: {', '.join(f'{part} {number(value)}' for part, value in row.dropna().items())}"
        for name, row in parts.iterrows()
    ]
    return Picture(figure, _said(f"{xlabel}, by part.", lines))


def points(
    title: str,
    caption: str,
    labels: tuple[str, str],
    rows: pd.DataFrame,
    colours: Mapping[str, str],
) -> Picture:
    """Two measures against each other, with both intervals; a panel for each value of `panel`.

    `rows`: `panel`, `x`, `x_low`, `x_high`, `y`, `y_low`, `y_high`, `arm`, `model`, `loop`, `text`.
    """
    panels = list(dict.fromkeys(rows["panel"]))
    with mpl.rc_context(RC):
        figure = sheet(HEAD_IN + PANEL_IN + 0.6)
        every = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axes, panel in zip(every, panels, strict=True):
            for _, own in rows[rows["panel"] == panel].groupby(["arm", "model"], sort=False):
                _points(axes, own, colours)
            axes.set(title=panel if len(panels) > 1 else "", xlabel=labels[0])
            axes.set(xlim=(0, HEAD_ROOM * rows["x_high"].max()))
            axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
        every[0].set(ylabel=labels[1], ylim=(0, HEAD_ROOM * rows["y_high"].max()))
        every[0].yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
        arms, models = (list(dict.fromkeys(rows[name])) for name in ("arm", "model"))
        key = [line_key(str(arm), color=colours.get(str(arm), QUIET)) for arm in arms]
        key += [line_key(str(model), color=QUIET, ls=line(str(model)), lw=1.5) for model in models]
        key.append(line_key("median, 95 % interval", color=QUIET, marker="BAR", ls="none"))
        with_key(figure, title, key)
        finish(figure, caption)
    lines = (
        f"{row.panel} · {row.arm} · {row.model} · {row.text}: {number(row.y)} at {number(row.x)}"
        for row in rows.itertuples(index=False)
    )
    return Picture(figure, _said(f"{labels[1]} against {labels[0]}.", lines))


def _points(axes: Axes, own: pd.DataFrame, colours: Mapping[str, str]) -> None:
    arm, model, loop = (str(own[name].iloc[0]) for name in ("arm", "model", "loop"))
    colour = colours.get(arm, QUIET)
    bars: dict[str, Any] = {
        f"{axis}err": np.array(
            [own[axis] - own[f"{axis}_low"], own[f"{axis}_high"] - own[axis]]
        ).clip(min=0)
        for axis in ("x", "y")
    }
    how: dict[str, Any] = {"color": colour, "ls": line(model), "lw": 1.2, "elinewidth": 0.8}
    axes.errorbar(own["x"], own["y"], **bars, **how, **marker_style(loop, model, colour))
    for each in own.itertuples():
        at: Any = (each.x, each.y)
        axes.annotate(str(each.text), at, xytext=(4, 4), textcoords="offset points", fontsize=7)
