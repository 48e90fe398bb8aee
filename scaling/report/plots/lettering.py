"""How wide words are in print, known before they are drawn: for lines that must fit a sheet."""

from functools import cache

from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.ft2font import FT2Font, LoadFlags

from scaling.report.plots.style import FONT

POINTS_PER_IN = 72
HINTING = 1.03  # letters that are fitted to pixels are a little wider than their outlines
MEASURED_AT = 100  # points; widths are proportional to the size
UNKNOWN = "\N{WHITE SQUARE}"  # drawn for a letter that the font does not have


def width_in(text: str, size: float, weight: str = "normal") -> float:
    """The width of a line of text, in inches; `size` in points."""
    return _width_at_100(text, weight) * size / MEASURED_AT * HINTING / POINTS_PER_IN


@cache
def _width_at_100(text: str, weight: str) -> float:
    """In points, of the letters' outlines; a stroke at the end makes trailing spaces count."""
    font = _font(weight)
    font.set_size(MEASURED_AT, POINTS_PER_IN)  # each time: drawing uses the same object
    known = "".join(each if font.get_char_index(ord(each)) else UNKNOWN for each in text)
    font.set_text(f"{known}|", 0.0, LoadFlags.NO_HINTING)
    return float(font.get_width_height()[0]) / 64  # FreeType counts in 64ths


@cache
def _font(weight: str) -> FT2Font:
    return get_font(findfont(FontProperties(family=FONT, weight=weight)))


def wrapped(text: str, size: float, room_in: float, weight: str = "normal") -> list[str]:
    """The text in lines that fit; broken at plain spaces only, a longer word stays whole."""
    lines: list[list[str]] = []
    left_in = 0.0
    space_in = width_in(" ", size, weight) - width_in("", size, weight)
    for word in text.split(" "):
        takes_in = width_in(word, size, weight)
        if lines and takes_in <= left_in:
            lines[-1].append(word)
        else:
            lines.append([word])
            left_in = room_in
        left_in -= takes_in + space_in
    return [" ".join(line) for line in lines]
