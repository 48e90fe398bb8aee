"""A plot on the page: an SVG inside it, or a file beside it.

An SVG inside the page has the page's fonts, and no id in it is used twice. Lines and backgrounds
have the colours of the page's style sheet, which has a dark variant; data keep the colour of their
arm.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree as ET

from scaling.report.plots.sheet import Draw, Sheet
from scaling.report.plots.style import BORDER, FAINT, INK, QUIET, RC, REGION_SHADES
from scaling.report.plots.svg import SVG, one_of_several

OF_A_FILE = re.compile(r' (?:xmlns|width|height|font-family)="[^"]*"')  # what the page sets itself

# Colours of style.py, and the variables of page.css that take their places.
COLOURS: dict[str, str] = {
    "#ffffff": "var(--paper)",
    INK: "var(--ink)",
    QUIET: "var(--quiet)",
    FAINT: "var(--faint)",
    BORDER: "var(--edge)",
    RC["axes.edgecolor"]: "var(--edge)",
    RC["grid.color"]: "var(--grid)",
    REGION_SHADES["smt"]: "var(--shade-1)",
    REGION_SHADES["oversubscribed"]: "var(--shade-2)",
}
HEX = re.compile("|".join(COLOURS))


@dataclass(frozen=True, slots=True)
class PlotFile:
    """A plot in a file beside the page.

    `address` is relative to the page, `description` is for readers who cannot see the plot, `width`
    and `height` are those of its view box.
    """

    address: str
    description: str
    width: str
    height: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure of the page: its id, what it is called, and its SVG or the file that has it."""

    name: str
    title: str
    svg: str = ""
    file: PlotFile | None = None


@dataclass(frozen=True, slots=True)
class Pictures:
    """How a page has its plots: drawn for it, or as the files that were written into `folder`.

    It has them inside, unless they are to stay `beside` it: `folder` is in the folder of the page.
    """

    folder: Path | None = None
    beside: bool = False

    def of(self, plot: str, name: str, draw: Draw) -> Picture:
        """The plot whose files are called `plot`; `name` must be an id that nothing else has.

        To be called inside of `RC`. Raises `OSError` where its file is not in `folder`.
        """
        if self.folder is None:
            return picture(draw(), name)
        file = self.folder / f"{plot}.svg"
        svg = file.read_text(encoding="utf-8")
        root = ET.fromstring(svg)
        title, description = (root.findtext(f"{SVG}{tag}", "") for tag in ("title", "desc"))
        if not self.beside:
            return _inside(svg, name, title)
        *_, width, height = root.get("viewBox", "").split()
        address = quote(f"{self.folder.name}/{file.name}")
        return Picture(name, title, file=PlotFile(address, description, width, height))


def picture(sheet: Sheet, name: str) -> Picture:
    """The sheet as a picture; `name` must be an id that nothing else on the page has.

    To be called inside of `RC`.
    """
    return _inside(sheet.svg(), name, sheet.title)


def _inside(svg: str, name: str, title: str) -> Picture:
    """The picture of a file's SVG."""
    own = one_of_several(svg, f"{name}-", ". The figures are in a table below.")
    root, _, content = HEX.sub(lambda found: COLOURS[found[0]], own).partition(">")
    return Picture(name, title, f"{OF_A_FILE.sub('', root)}>{content}")
