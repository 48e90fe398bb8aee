"""Memory against N, a panel for each loop, with what every extra worker costs written below."""

from matplotlib.axes import Axes
from matplotlib.text import Text

from scaling.analysis.curves import Curve
from scaling.base import formats
from scaling.report.plots.panel import HEAD_ROOM, draw_curves, finish, highest
from scaling.report.plots.plot import MOST_COLUMNS, Plot, Subject, columns_table
from scaling.report.plots.sheet import Layout, Sheet
from scaling.report.plots.style import INK, QUIET
from scaling.report.tables.grid import Cell, Grid
from scaling.report.tables.measures import curve_name

LINE_IN, SLOPE_SIZE = 0.17, 8.2
UNIT = "MiB per extra worker"


def draw(subject: Subject) -> Sheet:
    """The sheet: memory of the child's tree at the window's end."""
    most = max(len(subject.on(loop)) for loop in subject.loops)
    loops = len(subject.loops)
    under_in = LINE_IN * (most + (most > 1))
    layout = Layout(loops, min(loops, MOST_COLUMNS), under_in=under_in)
    sheet = subject.sheet("memory", "", layout, measures=("memory",))
    top = HEAD_ROOM * highest(subject.section.curves, "memory")
    for axes, loop in zip(sheet.all_panels, subject.loops, strict=True):
        draw_curves(axes, subject, loop, "memory")
        finish(axes, subject, loop, axis_label(subject), top)
        write_slopes(axes, subject.on(loop), subject.colours)
    return sheet


def is_there(subject: Subject) -> bool:
    """Whether there is a run whose memory is known."""
    return subject.has("memory")


def axis_label(subject: Subject) -> str:
    """What a memory axis shows."""
    return f"{subject.section.memory_kind}, MiB"


def write_slopes(axes: Axes, curves: list[Curve], colours: dict[str, str]) -> None:
    """MiB per extra worker with its range: a line for each curve, under the panel.

    Each has a square of the curve's colour before it, which may be too light to read words in.
    """
    known = [curve for curve in curves if curve.slope.n]
    above: Text = axes.xaxis.label
    if len(known) > 1:
        above = _write_below(axes, above, UNIT, QUIET, gid="slope")
    for curve in known:
        name = f"{curve.key.arm} {curve.key.model}: " if len(known) > 1 else ""
        unit = "" if len(known) > 1 else f" {UNIT}"
        square = _write_below(axes, above, "■", colours[curve.key.arm])
        square.set_in_layout(False)  # its line is
        text = f"{name}{curve.slope!s}{unit}"
        above = _write_below(axes, above, text, INK, after=11, gid="slope")


def _write_below(
    axes: Axes, above: Text, text: str, colour: str, after: float = 0.0, gid: str | None = None
) -> Text:
    """A line under another one, `after` so many points from the panel's left edge."""
    return axes.annotate(
        text,
        (0, 0),
        xytext=(after, -2),
        xycoords=("axes fraction", above),
        textcoords="offset points",
        va="top",
        color=colour,
        fontsize=SLOPE_SIZE,
        gid=gid,
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


PLOT = Plot("memory", draw, is_there, _tables, "memory")
