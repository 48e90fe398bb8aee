"""The key of a plot: what its colours, lines, dots and bars stand for, in rows above the panels."""

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import Normal, Stroke

from scaling.report.plots.lettering import POINTS_PER_IN, width_in
from scaling.report.plots.style import (
    BAND_ALPHA,
    BAR_MARKER,
    FAINT,
    IDEAL_LINE,
    QUIET,
    WIDTH_IN,
    line,
)

KEY_SIZE, HANDLE, HANDLE_GAP, ENTRY_GAP = 8.5, 2.2, 0.5, 1.6  # points; the others in letters of it


def write_key(figure: Figure, entries: list[Line2D], at_in: tuple[float, float]) -> None:
    """One row of the key; `at_in` is its upper left corner, from the left and from the top."""
    left_in, top_in = at_in
    figure.legend(
        handles=entries,
        loc="upper left",
        bbox_to_anchor=(left_in / WIDTH_IN, 1 - top_in / figure.get_figheight()),
        borderaxespad=0,
        borderpad=0,
        ncols=len(entries),
        frameon=False,
        fontsize=KEY_SIZE,
        handlelength=HANDLE,
        handletextpad=HANDLE_GAP,
        columnspacing=ENTRY_GAP,
    )


def fitted_rows(key: list[Line2D], room_in: float) -> list[list[Line2D]]:
    """The key's entries, broken into rows that fit the sheet."""
    beside_in = (HANDLE + HANDLE_GAP + ENTRY_GAP) * KEY_SIZE / POINTS_PER_IN
    rows: list[list[Line2D]] = []
    used_in = room_in
    for entry in key:
        takes_in = width_in(str(entry.get_label()), KEY_SIZE) + beside_in
        if used_in + takes_in > room_in:
            rows.append([])
            used_in = 0.0
        rows[-1].append(entry)
        used_in += takes_in
    return rows


def key_entries(
    colours: dict[str, str],
    models: list[str],
    bounds_kind: str,
    ideal: str,
    dots: str = "one run",
    band: str = "",
) -> list[Line2D]:
    """What colours, lines, dots and bars stand for. Models are shown where there are several."""
    entries = [Line2D([], [], color=colour, lw=2.2, label=arm) for arm, colour in colours.items()]
    if len(models) > 1:
        entries += [Line2D([], [], color=QUIET, lw=1.6, ls=line(m), label=m) for m in models]
    if dots:
        entries.append(Line2D([], [], color=FAINT, marker="o", ls="", ms=4, label=dots))
    if bounds_kind:
        bar = Line2D([], [], color=QUIET, marker=BAR_MARKER, mfc="none", ms=8, mew=1.1, ls="")
        bar.set_label(f"median with {bounds_kind}")
        entries.append(bar)
    if ideal:
        entries.append(Line2D([], [], color=QUIET, lw=1.1, ls=IDEAL_LINE, label=ideal))
    if band:
        ribbon = Stroke(linewidth=9, foreground=QUIET, alpha=1.5 * BAND_ALPHA, capstyle="butt")
        entries.append(Line2D([], [], color=QUIET, lw=1.2, path_effects=[ribbon, Normal()]))
        entries[-1].set_label(band)
    return entries
