"""Where a curve may bend before the cores are used up: at another kind of core, or another node.

Threads run where the system puts them, so nobody knows at which N the first of them leaves a node.
What is certain is the N beyond which they can no longer all be on it: that is where the line is.
"""

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes

from scaling.journal.record import Machine
from scaling.report.plots.style import BEHIND_TEXT, QUIET

LINE = (0, (1, 2))
NAME_SIZE = 6.8  # points


@dataclass(frozen=True, slots=True)
class Bend:
    """A border at `after` workers; `name` says what lies behind it."""

    after: int
    name: str


def bends(machine: Machine) -> list[Bend]:
    """The bends of a machine within its cores, in the order of N; none if its cores are all alike.

    Two at the same N are one, with both names.
    """
    cores, found = machine.physical_cores or 0, defaultdict[int, list[str]](list)
    slower, nodes = machine.efficiency_cpus or 0, machine.numa_nodes or 1
    if 0 < slower < cores:  # they have no siblings: as many cores as CPUs
        found[cores - slower].append("E-cores")
    if 1 < nodes <= cores:
        found[-(-cores // nodes)].append("> 1 NUMA node")
    return [Bend(after, ", ".join(names)) for after, names in sorted(found.items())]


def draw_bends(axes: Axes, found: list[Bend]) -> None:
    """A dotted line and a name for each bend inside a panel whose limits and curves are set.

    The name stands where the curves leave most room.
    """
    left, right = axes.get_xlim()
    last = max(axes.get_xticks(), default=right)
    for bend in found:
        if left < bend.after < last:
            place = bend.after + 0.5
            height = _free_height(axes, place)
            axes.axvline(place, color=QUIET, lw=0.8, ls=LINE, zorder=0.6, gid=f"bend-{bend.name}")
            axes.annotate(
                bend.name,
                (place, height),
                xycoords=axes.get_xaxis_transform(),
                xytext=(2, 0),
                textcoords="offset points",
                rotation=90,
                va="center",
                fontsize=NAME_SIZE,
                color=QUIET,
                bbox=BEHIND_TEXT,
                zorder=6,
            )


def _free_height(axes: Axes, place: float) -> float:
    """The middle of the largest gap between the lines at a place, as a share of the panel."""
    heights = [0.0, 1.0]
    for each in axes.get_lines():
        x, y = (np.asarray(data, float) for data in (each.get_xdata(), each.get_ydata()))
        if len(x) > 1 and x[0] <= place <= x[-1] and x[0] < x[-1]:
            at = axes.transData.transform((place, np.interp(place, x, y)))
            heights.append(float(np.clip(axes.transAxes.inverted().transform(at)[1], 0, 1)))
    heights.sort()
    low, high = max(pairwise(heights), key=lambda gap: gap[1] - gap[0])
    return (low + high) / 2
