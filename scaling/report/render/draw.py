"""Drawings of frames: curves, ratios, stacked bars.

Colours, markers and lines are in `scaling.report.render.style`: an arm has one colour, a loop one
marker, a model one line. Matplotlib's constrained layout places all parts. A drawing has a
description in words, for those who cannot see it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import NullFormatter, NullLocator

from scaling.base.formats import number, span
from scaling.report.render.grid import Tone
from scaling.report.render.sheet import Picture, Sheet, sheet
from scaling.report.render.style import (
    BAND_ALPHA,
    BORDER,
    CEILING,
    FAINT,
    IDEAL_LINE,
    INK,
    QUIET,
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
HEAD_ROOM = 1.08  # of an axis, above the highest figure
NARROW = {"oversubscribed": "oversub."}  # names of regions in a panel that is one of many
MARK = {"marker", "ms", "mfc", "mec", "mew", "ls", "color"}
FIGURES = "{x:,.10g}"  # of an axis: 25,000,000 instead of 2.5e+07


@dataclass(frozen=True)
class Curves:
    """Lines over numbers or words: a row of panels for each `row`, a panel for each `panel`.

    `medians` has a row per point: `row`, `panel`, `x`, `y`, `low`, `high`, `bound` (not 0 if y is a
    bound), `loop`, `arm`, `model`; if x is measured, too, also `x_low`, `x_high` and `text`, the
    label of the point. `runs` are the dots: `row`, `panel`, `x`, `y`, `arm`. `words` are the labels
    of x if x is no number; lines do not join such points. `ideal` lines start at the first point
    and are `rising` with x or `level`. `ceiling` has `row`, `x` and `y` of a line behind every
    panel of a row. `band` is the share by which equal cells differ, `regions` are borders with
    names, `limits` are horizontal lines.
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

    @property
    def is_measured(self) -> bool:
        """True if x is measured, too."""
        return "x_low" in self.medians


def curves(what: Curves) -> Picture:
    """Curves of medians with intervals, and dots of runs."""
    rows, columns = (list(dict.fromkeys(what.medians[name])) for name in ("row", "panel"))
    height_in = HEAD_IN + PANEL_IN * len(rows)
    with sheet(what.title, what.caption, height_in, len(rows), len(columns)) as found:
        for (row, panel), axes in zip(product(rows, columns), found.panels.flat, strict=True):
            own = what.medians[(what.medians["row"] == row) & (what.medians["panel"] == panel)]
            if own.empty:
                axes.set_axis_off()
                continue
            _panel(axes, what, own, is_narrow=len(columns) > 2)
            named = [each for each, all_ in ((row, rows), (panel, columns)) if len(all_) > 1]
            axes.set_title(": ".join(map(str, named)))
        _y_axis(found.panels[0, 0], what)
        for axes in found.panels[:, 0]:
            axes.set_ylabel(what.ylabel)
        _add_keys(found, what)
    about = ["row", "panel", "arm", "model"]
    figures = (
        (
            " · ".join(dict.fromkeys(str(row[name]) for name in about if str(row[name]))),
            f"{number(row['y'])} at {_x_text(what, row)}",
        )
        for row in what.medians.to_dict("records")
    )
    return found.described(f"{what.ylabel} over {what.xlabel}.", figures)


def _x_text(what: Curves, row: Mapping[Any, Any]) -> str:
    if what.is_measured:
        return f"{number(row['x'])} (N = {row['text']})"
    return what.words[int(row["x"])] if what.words else f"{row['x']:,g}"


def _panel(axes: Axes, what: Curves, own: pd.DataFrame, *, is_narrow: bool) -> None:
    row, panel = own["row"].iloc[0], own["panel"].iloc[0]
    for start, end, name in what.regions:
        label = NARROW.get(name, name) if is_narrow else name
        _region(axes, start, end, label, REGION_SHADES.get(name))
    if what.ceiling is not None:
        ceiling = what.ceiling[what.ceiling["row"] == row].sort_values("x")
        axes.plot(ceiling["x"], ceiling["y"], color=CEILING, lw=5, alpha=0.6, zorder=1)
    for limit in what.limits:
        axes.axhline(limit, color=INK, lw=0.9, ls=IDEAL_LINE, zorder=1)
    for _, curve in own.groupby(["arm", "model", "loop"], sort=False, observed=True):
        _curve(axes, curve if what.is_measured else curve.sort_values("x"), what)
    is_log = _x_axis(axes, what)
    if own["x"].nunique() == 1 and not what.words and not what.is_measured:
        axes.set_xlim(_whole(what.medians["x"], is_log=is_log))
    dots = what.runs[(what.runs["row"] == row) & (what.runs["panel"] == panel)]
    if len(dots):
        wide = float(np.ptp(what.medians["x"])) or 1.0
        beside = dots["x"] * (1 + ASIDE) if is_log else dots["x"] + ASIDE * wide
        colours = [what.colours.get(str(arm), QUIET) for arm in dots["arm"]]
        axes.scatter(beside, dots["y"], s=DOT_SIZE, c=colours, alpha=0.35, linewidth=0, zorder=2)


def _x_axis(axes: Axes, what: Curves) -> bool:
    """Label the values of x; return whether the axis is logarithmic: they span decades."""
    axes.set_xlabel(what.xlabel)
    if what.is_measured:
        axes.set_xlim(0, HEAD_ROOM * what.medians["x_high"].max())
        axes.xaxis.set_major_formatter(FIGURES)
        return False
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


def _whole(values: "pd.Series[float]", *, is_log: bool) -> tuple[float, float]:
    """The ends of an axis that shows all values, for a panel with a single one."""
    low, high = float(values.min()), float(values.max())
    if is_log:
        room = (high / low) ** (2 * ASIDE) if high > low else 2.0
        return low / room, high * room
    room = 2 * ASIDE * (high - low) or 0.5
    return low - room, high + room


def _apart(
    values: Sequence[float], scale: Callable[[Any], Any], first: int = 0, share: float = APART
) -> list[float]:
    """The values that are far enough from each other on a scale to be labelled."""
    wide = float(np.ptp(scale(np.array(values)))) or 1.0
    kept = [values[first]]
    for value in values:
        if min(abs(scale(value) - scale(each)) for each in kept) > share * wide:
            kept.append(value)
    return sorted(kept)


def _y_axis(axes: Axes, what: Curves) -> None:
    """From 0 to just above the highest figure; logarithmic where medians span decades."""
    medians = what.medians["y"]
    spans = medians.min() > 0 and medians.max() / medians.min() > DECADES
    if spans and not what.is_measured:
        axes.set_yscale("log")
    else:
        highest = pd.concat([what.medians["high"], what.runs["y"]]).max()
        axes.set_ylim(0, HEAD_ROOM * highest or 1)
    axes.yaxis.set_major_formatter(FIGURES)


def _region(axes: Axes, start: float, end: float, name: str, shade: str | None) -> None:
    """Draw a region of the machine: a shade behind, with its name above."""
    if shade:
        axes.axvspan(start, end, color=shade, zorder=0)
        axes.axvline(start, color=BORDER, lw=0.7, zorder=0)
    axes.annotate(
        name,
        ((start + end) / 2, 1),
        xycoords=axes.get_xaxis_transform(),
        xytext=(0, -2),
        textcoords="offset points",
        ha="center",
        va="top",
        fontsize=7.5,
        color=QUIET,
        annotation_clip=True,  # text beyond the axes would leave them no room in the layout
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
    bars = {"yerr": _bars(y, curve["low"], curve["high"])}
    if what.is_measured:
        bars["xerr"] = _bars(x, curve["x_low"], curve["x_high"])
        for each in curve.to_dict("records"):
            at: dict[str, Any] = {"xytext": (4, 4), "textcoords": "offset points", "fontsize": 7}
            axes.annotate(str(each["text"]), (each["x"], each["y"]), **at)
    style = marker_style(loop, model, colour)
    own_line = "none" if what.words else line(model)
    style |= {"color": colour, "ls": own_line, "lw": 1.5, "elinewidth": 0.9, "capsize": 2.2}
    axes.errorbar(x, y, **bars, zorder=3, **style)
    bounds = curve[curve["bound"] != 0]
    hollow = style | {"mfc": "white", "mec": colour, "mew": 1.1, "ls": "none"}
    axes.plot(bounds["x"], bounds["y"], zorder=4, **{k: hollow[k] for k in MARK & hollow.keys()})


def _bars(middle: "pd.Series[float]", low: "pd.Series[float]", high: "pd.Series[float]") -> Any:
    return np.nan_to_num(np.array([middle - low, high - middle]).clip(min=0))


def _add_keys(found: Sheet, what: Curves) -> None:
    """The key: arms by colour, models by line, and what else is drawn."""
    arms, models = (list(dict.fromkeys(what.medians[name])) for name in ("arm", "model"))
    for arm in arms:
        found.add_key(arm, color=what.colours.get(str(arm), QUIET))
    if len(models) > 1 and not what.words:
        for model in models:
            found.add_key(model, color=QUIET, ls=line(str(model)), lw=1.5)
    if len(what.runs):
        found.add_key("one run", color=FAINT, marker="o", ms=3, ls="none")
    found.add_key("median, 95 % interval", color=QUIET, marker="BAR", ls="none")
    if (what.medians["bound"] != 0).any():
        found.add_key("bound", color=QUIET, marker="o", mfc="white", ms=5, ls="none")
    if what.ideal:
        found.add_key("ideal", color=QUIET, ls=IDEAL_LINE, lw=0.8)
    if what.band:
        share = f"A/A: equal cells differ by up to ±{100 * what.band:.2g} %"
        found.add_key(share, color=QUIET, lw=6, alpha=BAND_ALPHA)
    if what.ceiling is not None:
        found.add_key("best processes", color=CEILING, lw=5, alpha=0.6)
    if what.limits:
        found.add_key("objective", color=INK, lw=0.9, ls=IDEAL_LINE)


# ------------------------------------------------------------------------------------------ ratios


def ratios(title: str, caption: str, rows: pd.DataFrame, colours: Mapping[str, str]) -> Picture:
    """Ratios as points with their intervals: a line for each `name`, a column for each `panel`.

    `rows`: `name`, `panel`, `ratio`, `low`, `high`, `tone`, `said` (the words to the right, or
    above the point if there are several panels), `arm`. Ratios of one name and panel share a line,
    each in the colour of its arm.
    """
    names, panels, arms = (list(dict.fromkeys(rows[name])) for name in ("name", "panel", "arm"))
    is_shared = bool(rows.duplicated(["name", "panel"]).any())
    apart = 0.6 / max(1, len(arms) - 1)
    shift = {arm: 0.3 - apart * at if is_shared else 0.0 for at, arm in enumerate(arms)}
    row_in = WORDED_ROW_IN if len(panels) > 1 else ROW_IN * (1.6 if is_shared else 1)
    with sheet(title, caption, HEAD_IN + row_in * len(names), columns=len(panels)) as found:
        for axes, panel in zip(found.panels[0], panels, strict=True):
            own = rows[rows["panel"] == panel]
            places = np.array([shift[row.arm] - names.index(row.name) for row in own.itertuples()])
            shown = [colours.get(str(arm), QUIET) for arm in own["arm"]]
            shown = shown if is_shared else [TONES[tone] for tone in own["tone"]]
            share = APART * (1 if len(panels) == 1 else 1.5)
            _intervals(axes, own, places, shown, share)
            if len(panels) > 1:
                _words_above(axes, own, places, shown)
                axes.set(title=panel)
        first = found.panels[0, 0]
        first.set(ylim=(0.5 - len(names), 0.8) if len(panels) > 1 else (0.3 - len(names), 0.7))
        first.set_yticks(-np.arange(len(names)), names)
        if is_shared:
            for arm in arms:
                found.add_key(arm, color=colours.get(str(arm), QUIET))
        elif len(panels) == 1:
            _words_beside(first, rows)
    figures = (
        (
            ", ".join(filter(None, (str(row["name"]), str(row["panel"])))),
            f"{number(row['ratio'])}× ({span(number(row['low']), number(row['high']))})"
            + f", {row['said']}" * bool(row["said"]),
        )
        for row in rows.to_dict("records")
    )
    return found.described("Ratios with their intervals.", figures)


def _words_above(axes: Axes, rows: pd.DataFrame, places: Any, colours: Sequence[str]) -> None:
    for place, said, colour in zip(places, rows["said"], colours, strict=True):
        at: dict[str, Any] = {"xycoords": axes.get_yaxis_transform(), "color": colour}
        axes.annotate(said, (0.02, place + 0.22), va="bottom", fontsize=6.8, **at)


def _words_beside(axes: Axes, rows: pd.DataFrame) -> None:
    beside = axes.secondary_yaxis("right")
    beside.set_yticks(-np.arange(len(rows)), labels=rows["said"])
    beside.tick_params(length=0)
    beside.spines["right"].set_visible(False)


def _intervals(
    axes: Axes, rows: pd.DataFrame, places: Any, colours: Sequence[str], share: float
) -> None:
    """Ratios on a logarithmic axis: medians with their intervals, one place below the other."""
    axes.axvline(1, color=FAINT, zorder=0)
    axes.hlines(places, rows["low"], rows["high"], color=colours, lw=1.6)
    axes.scatter(rows["ratio"], places, color=colours, s=MEDIAN_SIZE, zorder=3)
    axes.set_xscale("log")
    axes.grid(visible=False, axis="y")
    axes.grid(visible=True, axis="x")
    low, high = min(rows["low"].min(), 1), max(rows["high"].max(), 1)
    ticks = [tick for tick in RATIO_TICKS if low <= tick <= high]
    axes.set_xticks(_apart(ticks, np.log, first=ticks.index(1), share=share))
    axes.xaxis.set_major_formatter("{x:g}×")
    axes.xaxis.set_minor_formatter(NullFormatter())


# ------------------------------------------------------------------------------------------ stacks


def stacks(
    title: str, caption: str, xlabel: str, rows: pd.DataFrame, colours: Sequence[str]
) -> Picture:
    """Stacked bars: a bar for each row, a part for each column; a negative part is a gain.

    The columns `low` and `high` are the interval of the whole.
    """
    parts = rows.drop(columns=["low", "high"])
    places = -np.arange(len(rows))
    with sheet(title, caption, HEAD_IN + 0.8 + 1.3 * ROW_IN * len(rows)) as found:
        axes = found.panels[0, 0]
        above, below = np.zeros(len(rows)), np.zeros(len(rows))
        for part, colour in zip(parts, colours, strict=False):
            values = rows[part].fillna(0).to_numpy()
            start = np.where(values >= 0, above, below)
            axes.barh(places, values, left=start, color=colour, height=0.62, linewidth=0.4)
            above, below = above + values.clip(min=0), below + values.clip(max=0)
            found.add_key(part, color=colour, lw=6)
        axes.hlines(places, rows["low"], rows["high"], color=INK, lw=1)
        found.add_key("the whole, 95 % interval", color=INK, lw=1)
        axes.axvline(0, color=QUIET, lw=0.8)
        axes.set(xlabel=xlabel, ylim=(0.3 - len(rows), 0.7))
        axes.set_yticks(places, rows.index)
        axes.grid(visible=False, axis="y")
        axes.grid(visible=True, axis="x")
        axes.xaxis.set_major_formatter(FIGURES)
    figures = (
        (str(name), f"{part} {number(value)}")
        for name, row in parts.iterrows()
        for part, value in row.dropna().items()
    )
    return found.described(f"{xlabel}, by part.", figures)
