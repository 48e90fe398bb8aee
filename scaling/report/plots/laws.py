"""A fitted law in a panel: a thin line with its band, from the first to the last N of its region.

Nothing is drawn beyond: what a law says of other Ns is a guess, and the region's border is where
the hardware changes.
"""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from scaling.analysis.laws.regions import region_laws
from scaling.report.plots.style import INK
from scaling.report.plots.subject import Subject

STEPS = 60
WIDTH = 0.9  # points: thinner than a curve, which it may lie on
BAND = 0.14  # opacity


def draw_laws(axes: Axes, subject: Subject, loop: str, model: str | None = None) -> None:
    """The laws of a loop's curves, of one `model` only if one is named."""
    for curve in subject.on(loop, model):
        for law in region_laws(curve):
            if law.choice is None:
                continue
            ns = np.linspace(law.workers[0], law.workers[-1], STEPS)
            fit = law.choice.fit
            axes.fill_between(
                ns,
                *fit.band(ns),
                color=subject.colours[curve.key.arm],
                alpha=BAND,
                lw=0,
                zorder=1.8,
                gid=f"law-band-{law.region}",
            )
            axes.plot(ns, fit.predict(ns), color=INK, lw=WIDTH, zorder=4.5, gid=f"law-{law.region}")


def law_key(subject: Subject) -> list[Line2D]:
    """What the thin lines are; nothing if there is none."""
    found = (law.choice for curve in subject.section.curves for law in region_laws(curve))
    names = dict.fromkeys(choice.fit.law.name for choice in found if choice)
    if not names:
        return []
    label = f"law fitted inside a region ({', '.join(names)}) with its 95 % band"
    return [Line2D([], [], color=INK, lw=WIDTH, label=label)]
