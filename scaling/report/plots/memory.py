"""Memory against N, a panel for each loop, with what every extra worker costs written below."""

from typing import Any

from matplotlib.axes import Axes

from scaling.analysis.curves.curve import Curve
from scaling.base import formats
from scaling.report.plots.lettering import POINTS_PER_IN
from scaling.report.plots.panel import HEAD_ROOM, draw_curves, finish, highest
from scaling.report.plots.plot import Plot, columns_table
from scaling.report.plots.sheet import AXIS_IN, Sheet
from scaling.report.plots.style import INK, QUIET
from scaling.report.plots.subject import Subject
from scaling.report.tables.grid import Cell, Grid
from scaling.report.tables.measures import curve_name

LINE_IN = 0.165
UNIT = "MiB per extra worker"


def draw(subject: Subject) -> Sheet:
    """The sheet: memory of the child's tree at the window's end."""
    loops = subject.loops
    most = max(len(subject.on(loop)) for loop in loops)
    layout = subject.a_panel_per_loop(under_in=LINE_IN * (most + (most > 1)) + 0.08)
    drawn = subject.estimates("memory")
    sheet = subject.sheet("memory", "", layout, drawn=drawn, noise=("memory",))
    top = HEAD_ROOM * highest(subject.section.curves, "memory")
    for place, (axes, loop) in enumerate(zip(sheet.all_panels, loops, strict=True)):
        draw_curves(axes, subject, loop, "memory")
        label = axis_label(subject) if place % layout.columns == 0 else ""
        finish(axes, subject, loop, label, top)
        write_slopes(axes, subject.on(loop), subject.colours)
    return sheet


def is_there(subject: Subject) -> bool:
    """Whether there is a run whose memory is known."""
    return subject.has("memory")


def axis_label(subject: Subject) -> str:
    """What a memory axis shows."""
    return f"{subject.section.memory_kind}, MiB"


def write_slopes(axes: Axes, curves: list[Curve], colours: dict[str, str]) -> None:
    """MiB per extra worker with its range: one line a curve, under the panel."""
    known = [curve for curve in curves if curve.slope.n]
    if len(known) == 1:
        (curve,) = known
        colour = colours[curve.key.arm]
        _write_line(axes, 0, f"{curve.slope!s} {UNIT}", colour)
    elif known:
        _write_line(axes, 0, UNIT)
    for number, curve in enumerate(known[: len(known) * (len(known) > 1)], start=1):
        text = f"{curve.key.arm} {curve.key.model}: {curve.slope!s}"
        _write_line(axes, number, text, colours[curve.key.arm])


def _write_line(axes: Axes, number: int, text: str, colour: str | None = None) -> None:
    """A line below the panel; a square of the curve's colour before it, which may be too light
    to read writing in.
    """
    down = -(AXIS_IN + LINE_IN * number) * POINTS_PER_IN
    place: dict[str, Any] = {"xy": (0, 0), "xycoords": "axes fraction", "va": "top"}
    if colour is not None:
        square = place | {"textcoords": "offset points", "xytext": (0, down)}
        axes.annotate("■", color=colour, fontsize=8.2, **square)
    indent = 11 if colour is not None else 0
    axes.annotate(
        text,
        xytext=(indent, down),
        textcoords="offset points",
        color=INK if colour is not None else QUIET,
        fontsize=8.2,
        gid="slope",
        **place,
    )


def _tables(subject: Subject, title: str) -> list[Grid]:
    """Memory at each N; what an extra worker takes where no comparison has a table of that."""
    shown = columns_table("memory_mib")(subject, title)
    return shown if subject.comparisons else [*shown, _slopes(subject)]


def _slopes(subject: Subject) -> Grid:
    rows: list[list[Cell]] = [
        [curve_name(curve), curve.slope if curve.slope.n else formats.BLANK]
        for curve in subject.section.curves
    ]
    title = f"{subject.section.title}: {UNIT}"
    return Grid(title, ["curve", f"{UNIT} ({subject.section.memory_kind})"], rows)


PLOT = Plot("memory", draw, is_there, "memory", _tables)
