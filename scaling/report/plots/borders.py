"""The borders where a machine bends a curve, in the panels of plots against N.

Regions are cores, then SMT siblings, then oversubscription. Bends lie within the cores: another
kind of core, or another node. Threads run where the system puts them, so nobody knows at which N
the first of them leaves a node. What is certain is the N beyond which they can no longer all be on
it: that is where the line is.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from scaling.analysis.curves import Curve
from scaling.journal.record import Machine
from scaling.report.plots.sheet import panel_width_in, width_in
from scaling.report.plots.style import BEHIND_TEXT, BORDER, QUIET, REGION_SHADES

NAMES = {"cores": "cores", "smt": "SMT siblings", "oversubscribed": "oversubscribed"}
SHORT_NAMES = {"SMT siblings": "SMT", "oversubscribed": "oversub."}
NAME_SIZE, BEND_SIZE = 7.5, 6.8  # points
BEND_LINE = (0, (1, 2))
OVER_NAMES = 17  # points from a panel to a heading that has names below it


def regions(curves: list[Curve], machine: Machine) -> dict[str, float]:
    """The regions that the curves' Ns reach, in order, with where each begins on the N axis: the
    first at 0, others between whole Ns. None where no run says its region.
    """
    reached = {
        point.workers: point.region for curve in curves for point in curve.points if point.region
    }
    known = [each for each in (machine.physical_cores, machine.usable_cpus) if each]
    limits = {"cores": min(known, default=None), "smt": machine.usable_cpus}
    names = [name for name in NAMES if name in reached.values()]
    found = dict.fromkeys(names, 0.0)
    for before, name in pairwise(names):
        last = max(n for n, region in reached.items() if region == before)
        first = min(n for n, region in reached.items() if region == name)
        found[name] = _border(last, first, limits.get(before))
    return found


def _border(last: int, first: int, limit: int | None) -> float:
    """Half a worker past the last N that fits, as the machine says, or else midway between runs."""
    if limit is not None and last <= limit < first:
        return limit + 0.5
    return (last + first) / 2


def draw_regions(axes: Axes, found: Mapping[str, float]) -> None:
    """Shade and name the regions of a panel whose limits and heading are set; nothing if there is
    but one.
    """
    left, right = axes.get_xlim()
    if len(found) < 2:
        return
    ends = [*found.values(), right][1:]
    for (region, begins), end in zip(found.items(), ends, strict=True):
        if begins:
            axes.axvspan(begins, right, color=REGION_SHADES[region], lw=0, zorder=0)
            axes.axvline(begins, color=BORDER, lw=0.8, zorder=0.5, gid=f"border-{region}")
        name = NAMES[region]
        name_above(axes, begins or left, end, (name, SHORT_NAMES.get(name, name)))


def name_above(axes: Axes, begins: float, ends: float, names: Sequence[str]) -> None:
    """Write the first of these names that fits above a stretch of the x axis, and the heading of
    the panel above it.
    """
    first, last = (_share(axes, place) for place in (begins, ends))
    room_in = panel_width_in(axes) * (last - first)
    name = next((each for each in names if width_in(each, NAME_SIZE) <= room_in), "")
    where: dict[str, Any] = {"transform": axes.transAxes, "ha": "center", "va": "bottom"}
    axes.text((first + last) / 2, 1.012, name, fontsize=NAME_SIZE, color=QUIET, **where)
    axes.set_title(axes.get_title(loc="left"), pad=OVER_NAMES)


def _share(axes: Axes, place: float) -> float:
    """Where a place on the x axis is, from 0 to 1."""
    scaled = axes.transScale.transform((place, axes.get_ylim()[1]))
    return float(axes.transLimits.transform(scaled)[0])


def bends(machine: Machine) -> dict[int, str]:
    """The bends of a machine within its cores: after how many workers, and what lies behind.

    In the order of N; none if its cores are all alike. Two at the same N are one, with both names.
    """
    cores, found = machine.physical_cores or 0, defaultdict[int, list[str]](list)
    slower, nodes = machine.efficiency_cpus or 0, machine.numa_nodes or 1
    caches = machine.caches or nodes
    if 0 < slower < cores:  # they have no siblings: as many cores as CPUs
        found[cores - slower].append("E-cores")
    if 1 < nodes <= cores:
        found[-(-cores // nodes)].append("> 1 NUMA node")
    if nodes < caches <= cores / 2:
        found[-(-cores // caches)].append("> 1 cache")
    return {after: ", ".join(names) for after, names in sorted(found.items())}


def draw_bends(axes: Axes, found: Mapping[int, str]) -> None:
    """A dotted line and a name for each bend inside a panel whose limits and curves are set.

    The name stands where the curves leave most room.
    """
    left, right = axes.get_xlim()
    last = max(axes.get_xticks(), default=right)
    for after, name in found.items():
        if left < after < last:
            place = after + 0.5
            height = _free_height(axes, place)
            axes.axvline(place, color=QUIET, lw=0.8, ls=BEND_LINE, zorder=0.6, gid=f"bend-{name}")
            axes.annotate(
                name,
                (place, height),
                xycoords=axes.get_xaxis_transform(),
                xytext=(2, 0),
                textcoords="offset points",
                rotation=90,
                va="center",
                fontsize=BEND_SIZE,
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
