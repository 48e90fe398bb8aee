"""How wide words are in print, known before they are drawn: for lines that must fit a sheet."""

from functools import cache

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

from scaling.report.plots.style import FONT

POINTS_PER_IN = 72
HINTING = 1.03  # letters that are fitted to pixels come out a little wider than their outlines


@cache
def width_in(text: str, size: float, weight: str = "normal") -> float:
    """The width of a line of text, in inches; `size` in points."""
    font = FontProperties(family=FONT, weight=weight)
    advance = TextPath((0, 0), f"{text}|", size=size, prop=font).get_extents().x1
    return float(advance) * HINTING / POINTS_PER_IN


def wrapped(text: str, size: float, room_in: float, weight: str = "normal") -> list[str]:
    """The text in lines that fit; broken at plain spaces only, a longer word stays whole."""
    lines: list[str] = []
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width_in(longer, size, weight) <= room_in:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines
