"""One panel: curves with every run behind them, an honest N axis, zero at the bottom."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator
from matplotlib.transforms import offset_copy

from scaling.analysis.curves import Curve
from scaling.analysis.estimate import Estimate
from scaling.plots.regions import draw_regions
from scaling.plots.style import INK, line, marker
from scaling.plots.subject import Subject

HEAD_ROOM = 1.10  # of the highest run: so that no dot touches the frame
DOTS_ASIDE = 4.5  # points of print right of the median
LABEL_GAP_IN = 0.17  # two numbers nearer than that on the N axis run into one


def draw_curves(
    axes: Axes, subject: Subject, loop: str, what: str, model: str | None = None
) -> None:
    """Every curve of a loop: its runs as faint dots, the medians joined, a bar from low to high.

    Of one `model` only, if one is named. `what` names both the estimates of a `Point` and the
    runs behind them in `Curve.values`.
    Dots stand a few points of print beside their median, which would hide them; their data are
    at N. Lines are not moved: beside its ideal a steep line would look worse than it is.
    """
    for curve in subject.on(loop, model):
        _draw_curve(axes, curve, subject.colours[curve.key.arm], what)


def _draw_curve(axes: Axes, curve: Curve, colour: str, what: str) -> None:
    figure = axes.get_figure(root=True)
    grid = curve.values[what]
    known = np.isfinite(grid)
    axes.scatter(
        np.broadcast_to(np.array(curve.workers, dtype=float), grid.shape)[known],
        grid[known],
        s=10,
        color=colour,
        alpha=0.4,
        linewidths=0,
        zorder=3,
        gid="runs",
        transform=offset_copy(axes.transData, figure, DOTS_ASIDE, 0, units="points"),
    )
    estimates: list[tuple[int, Estimate]] = [
        (point.workers, value) for point in curve.points if (value := getattr(point, what)).n
    ]
    middle = np.array([value.point for _, value in estimates])
    filled = curve.key.model == "threads"
    axes.errorbar(
        [n for n, _ in estimates],
        middle,
        yerr=(
            middle - np.array([value.low for _, value in estimates]),
            np.array([value.high for _, value in estimates]) - middle,
        ),
        color=colour,
        ls=line(curve.key.model),
        lw=1.7,
        marker=marker(curve.key.loop),
        ms=4.4 if filled else 5.4,
        mfc=colour if filled else "white",
        mec="white" if filled else colour,
        mew=0.7 if filled else 1.1,
        elinewidth=1.0,
        capsize=2.4,
        capthick=1.0,
        zorder=4,
        label=f"{curve.key.arm} {curve.key.model}",
    )


def highest(curves: list[Curve], runs: str) -> float:
    """The highest single run among the curves; 1 where there is none."""
    tops = [float(np.nanmax(c.values[runs])) for c in curves if np.isfinite(c.values[runs]).any()]
    return max(tops, default=1.0) or 1.0


def finish(axes: Axes, subject: Subject, heading: str, y_label: str, top: float) -> None:
    """Limits, ticks, borders and words of a panel whose curves are drawn."""
    workers = sorted({n for curve in subject.section.curves for n in curve.workers})
    margin = 0.06 * (workers[-1] - workers[0]) or 0.5
    right = workers[-1] + max(margin, 0.35)
    axes.set_xlim(max(workers[0] - max(margin, 0.35), 0), right)
    axes.set_ylim(0, top)
    axes.set_xticks(workers)
    axes.set_xticklabels(_readable(workers, axes))
    axes.set_xlabel("workers (N)")
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    axes.yaxis.set_tick_params(labelleft=bool(y_label))
    axes.set_ylabel(y_label)
    several = len(subject.regions) > 1
    axes.set_title(heading, loc="left", pad=17 if several else 7, color=INK, fontweight="bold")
    draw_regions(axes, subject.regions)


def short(value: float) -> str:
    """A number for an axis: 2.5k, 40k, 1.2M; small ones as they are."""
    for limit, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= 10 * limit or (abs(value) >= limit and limit > 1e3):
            return f"{value / limit:.4g}{letter}"
    return f"{value:,.4g}"


def _readable(workers: list[int], axes: Axes) -> list[str]:
    """A label for every N, blank where it would run into its neighbour; both ends are kept."""
    left, right = axes.get_xlim()
    figure = axes.get_figure(root=True)
    assert figure is not None
    per_worker_in = axes.get_position().width * figure.get_figwidth() / (right - left)
    labels, last = [], -np.inf
    for n in workers:
        room_before = (n - last) * per_worker_in >= LABEL_GAP_IN
        room_after = n == workers[-1] or (workers[-1] - n) * per_worker_in >= LABEL_GAP_IN
        fits = room_before and room_after
        labels.append(str(n) if fits else "")
        last = n if fits else last
    return labels
