"""The style of figures: an arm has one colour, a loop one marker, a model one line, everywhere.

The palette is seaborn's `colorblind` (after B. Wong, Nature Methods 8, 441, 2011); markers and
lines repeat the information for those who cannot distinguish colours. The palette is copied here,
and a test compares it: seaborn imports `scipy.stats`, which takes longer than drawing five plots.
Sizes suit a README column of 830 px, which is WIDTH_IN at 100 dpi; PNG files have twice as many
pixels. Fonts, lines and axes are in the style file beside this module.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.path import Path as Outline

from scaling.base.models import kind_of

WIDTH_IN = 8.3
PNG_DPI = 200

INK = "#262626"
QUIET = "#6b6b6b"
FAINT = "#b8b8b8"
CEILING = "#c0c0c0"  # of the best processes, behind the curves of others
BORDER = "#a6a6a6"  # of a region
REGION_SHADES = {"smt": "#f8f8f8", "oversubscribed": "#f1f1f1"}

COLORBLIND = (
    *("#0173b2", "#de8f05", "#029e73", "#d55e00", "#cc78bc"),
    *("#ca9161", "#fbafe4", "#949494", "#ece133", "#56b4e9"),
)
_BLUE, _ORANGE, _GREEN, _RED, _PINK, _BROWN, _ROSE, _GREY, _YELLOW, _SKY = COLORBLIND

VERSION_LETTERS = "0123456789."

# Colours by the role in the ladder: an arm without its version.
ROLES = {
    "t": _BLUE,
    "": _ORANGE,
    "+mimalloc": _RED,
    "t+gil": _GREEN,
    "t+nogc": _SKY,
    "+nogc": _BROWN,
    "+mimalloc+nogc": _PINK,
}
SPARE = (_PINK, _SKY, _BROWN, _GREEN, _RED, _GREY, _ROSE, _ORANGE, _BLUE, _YELLOW)

MARKERS = {
    "asyncio": "o",
    "uvloop": "s",
    "rloop": "D",
    "zuvloop": "^",
    "trio": "v",
    "anyio/asyncio": "P",
    "anyio/trio": "X",
}
OTHER_MARKER = "h"

LINES: dict[str, Any] = {
    "threads": "-",
    "processes": (0, (5, 1.2, 1, 1.2)),
    "forked": (0, (3.4, 1.4)),
    "interpreters": (0, (1.2, 1.2)),
    "mixed": (0, (7, 1.4, 1.2, 1.4, 1.2, 1.4)),
    "mixed-forked": (0, (3.4, 1.2, 1.2, 1.2)),
}
IDEAL_LINE = (0, (5, 4))
BAND_ALPHA = 0.17  # of the A/A band, so that six of them still leave the panel readable

# An upright bar with caps, for the key: as errorbar draws it.
BAR_MARKER = Outline(
    [(-0.5, 1), (0.5, 1), (0, 1), (0, -1), (-0.5, -1), (0.5, -1)],
    [Outline.MOVETO, Outline.LINETO] * 3,
)

# Matplotlib's defaults first: a user's matplotlibrc is for the user's own figures.
_DEFAULTS = {
    name: value for name, value in mpl.rcParamsDefault.items() if not name.startswith("backend")
}
STYLE = Path(__file__).with_name("scaling.mplstyle")
RC: dict[Any, Any] = {**_DEFAULTS, **mpl.rc_params_from_file(STYLE, use_default_template=False)}


def arm_colours(arms: Iterable[str]) -> dict[str, str]:
    """A colour for each arm, in order: the colour of its role, or a spare one if that is taken.

    Among versions in one role the newest gets the colour of the role.
    """
    given = list(arms)
    colours: dict[str, str] = {}
    for arm in sorted(given, key=_version, reverse=True):
        role = arm.lstrip(VERSION_LETTERS)
        wanted = (ROLES.get(role), *SPARE)
        free = (colour for colour in wanted if colour and colour not in colours.values())
        colours[arm] = next(free, _GREY)
    return {arm: colours[arm] for arm in given}


def _version(arm: str) -> tuple[int, ...]:
    version = arm[: len(arm) - len(arm.lstrip(VERSION_LETTERS))]
    return tuple(int(part) for part in version.split(".") if part)


def marker_style(loop: str, model: str, colour: str) -> dict[str, Any]:
    """The marker of a curve's medians: by loop, filled for threads and hollow for others.

    A white rim separates a filled marker from its line; a hollow marker is a little larger, to look
    as large.
    """
    filled = model == "threads"
    return {
        "marker": MARKERS.get(loop, OTHER_MARKER),
        "ms": 4.4 if filled else 5.4,
        "mfc": colour if filled else "white",
        "mec": "white" if filled else colour,
        "mew": 0.7 if filled else 1.1,
    }


def line(model: str) -> Any:
    """The line style of a model."""
    return LINES.get(kind_of(model), LINES["threads"])
