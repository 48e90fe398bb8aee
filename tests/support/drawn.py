"""Reads back what a plot shows."""

from typing import cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.container import ErrorbarContainer
from matplotlib.legend import Legend

from scaling.report.plots.draw import PLOTS
from scaling.report.plots.sheet import Sheet

BY_NAME = {plot.name: plot for plot in PLOTS}


def runs_in(axes: Axes) -> list[tuple[float, float]]:
    """The dots of single runs, as (x, value), sorted."""
    return sorted(
        (float(x), float(y))
        for dots in axes.collections
        if isinstance(dots, PathCollection) and dots.get_gid() == "runs"
        for x, y in np.asarray(dots.get_offsets())
    )


def bars_in(axes: Axes) -> list[ErrorbarContainer]:
    """The medians with their intervals, by curve."""
    return [each for each in axes.containers if isinstance(each, ErrorbarContainer)]


def key_of(sheet: Sheet) -> list[str]:
    """The words of the key of a plot."""
    legends = cast(list[Legend], sheet.figure.findobj(Legend))
    return [text.get_text() for legend in legends for text in legend.get_texts()]


def small_print(sheet: Sheet) -> str:
    """The description below a plot, with plain spaces."""
    return sheet.description.replace("\N{NO-BREAK SPACE}", " ")
