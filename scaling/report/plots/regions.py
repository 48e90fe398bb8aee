"""The borders where the hardware bends a curve: cores, then SMT siblings, then oversubscription."""

from dataclasses import dataclass

from matplotlib.axes import Axes

from scaling.analysis.curves.curve import Curve
from scaling.journal.record import Machine
from scaling.report.plots.lettering import width_in
from scaling.report.plots.style import BORDER, QUIET, REGION_SHADES

NAMES = {"cores": "cores", "smt": "SMT siblings", "oversubscribed": "oversubscribed"}
SHORT_NAMES = {"SMT siblings": "SMT", "oversubscribed": "oversub."}
NAME_SIZE = 7.5  # points


@dataclass(frozen=True, slots=True)
class Region:
    """A stretch of the N axis; `begins` and `ends` lie between whole Ns, None is the edge."""

    name: str
    begins: float | None
    ends: float | None


def regions(curves: list[Curve], machine: Machine) -> list[Region]:
    """The regions that the curves' Ns reach, in order; none where no run says its region."""
    reached = {
        point.workers: point.region for curve in curves for point in curve.points if point.region
    }
    known = [each for each in (machine.physical_cores, machine.usable_cpus) if each]
    limits = {"cores": min(known, default=None), "smt": machine.usable_cpus}
    found: list[Region] = []
    for name in NAMES:
        inside = sorted(n for n, region in reached.items() if region == name)
        if not inside:
            continue
        if found:
            border = _border(found[-1].name, reached, inside[0], limits)
            found[-1] = Region(found[-1].name, found[-1].begins, border)
            found.append(Region(name, border, None))
        else:
            found.append(Region(name, None, None))
    return found


def _border(
    before: str, reached: dict[int, str], first: int, limits: dict[str, int | None]
) -> float:
    """Half a worker past the last N that fits, as the machine says, or else midway between runs."""
    last = max(n for n, region in reached.items() if region == before)
    limit = limits.get(before)
    if limit is not None and last <= limit < first:
        return limit + 0.5
    return (last + first) / 2


def draw_regions(axes: Axes, found: list[Region]) -> None:
    """Shade and name the regions of a panel whose limits are set; nothing if there is but one."""
    left, right = axes.get_xlim()
    if len(found) < 2:
        return
    for region in found:
        begins = left if region.begins is None else region.begins
        ends = right if region.ends is None else region.ends
        if region.begins is not None:
            axes.axvspan(begins, right, color=REGION_SHADES[region.name], lw=0, zorder=0)
            axes.axvline(begins, color=BORDER, lw=0.8, zorder=0.5, gid=f"border-{region.name}")
        name = _fitting(NAMES[region.name], panel_width_in(axes) * (ends - begins) / (right - left))
        axes.text(
            (begins + ends) / 2,
            1.012,
            name,
            transform=axes.get_xaxis_transform(),
            ha="center",
            va="bottom",
            fontsize=NAME_SIZE,
            color=QUIET,
        )


def _fitting(name: str, room_in: float) -> str:
    """The name, or a shorter one where there is no room for it, or none."""
    names = (name, SHORT_NAMES.get(name, name), "")
    return next(each for each in names if width_in(each, NAME_SIZE) <= room_in or not each)


def panel_width_in(axes: Axes) -> float:
    """How wide a panel is on its sheet, in inches."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    return float(axes.get_position().width * figure.get_figwidth())
