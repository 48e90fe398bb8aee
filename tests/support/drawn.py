"""Reads back what a plot shows."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection


def runs_in(axes: Axes) -> list[tuple[float, float]]:
    """The dots of single runs, as (x, value), sorted."""
    return sorted(
        (float(x), float(y))
        for dots in axes.collections
        if isinstance(dots, PathCollection) and dots.get_gid() == "runs"
        for x, y in np.asarray(dots.get_offsets())
    )
