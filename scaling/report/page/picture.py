"""A plot on the page: an SVG inside it, or a file beside it.

An SVG inside the page is small, and no id in it is used twice. Text stays text: that takes a third
of the bytes of outlines, can be searched, and has the page's fonts. Labels were fitted in a wide
font, so other fonts take no more room. Lines and backgrounds have the colours of the page's style
sheet, which has a dark variant; data keep the colour of their arm.
"""

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree as ET

from scaling.report.plots.sheet import Draw, Sheet
from scaling.report.plots.style import BORDER, FAINT, INK, QUIET, RC, REGION_SHADES

RC_OF_PAGES = {**RC, "svg.fonttype": "none"}  # what sheets for a page are drawn and saved in

SVG = "{http://www.w3.org/2000/svg}"
DUBLIN_CORE = "{http://purl.org/dc/elements/1.1/}"  # of what a plot's file says of itself
XLINK = "{http://www.w3.org/1999/xlink}href"
REFERENCE = re.compile(r"url\(#([^)]+)\)")
LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")
NO_TURN = re.compile(r"^rotate\(-?0 [^)]*\)$")
OF_THE_PAGE = re.compile(r"font-family: [^;]*; ?")
NUMBERS = ("d", "x", "y", "width", "height", "transform")  # attributes that hold them
DECIMALS = 2  # of a point of print: a hundredth of what can be seen

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
    """How a page has its plots: drawn into it, or as the files that were written into `folder`.

    That folder must be beside the page.
    """

    folder: Path | None = None

    def of(self, plot: str, name: str, draw: Draw) -> Picture:
        """The plot whose files are called `plot`; `name` must be an id that nothing else has.

        To be called inside of `RC_OF_PAGES`. Raises `OSError` where its file is not in `folder`.
        """
        if self.folder is None:
            return picture(draw(), name)
        file = self.folder / f"{plot}.svg"
        root = ET.fromstring(file.read_bytes())
        title, description = (
            root.findtext(f".//{DUBLIN_CORE}{word}", "") for word in ("title", "description")
        )
        *_, width, height = root.get("viewBox", "").split()
        address = quote(f"{self.folder.name}/{file.name}")
        return Picture(name, title, file=PlotFile(address, description, width, height))


def picture(sheet: Sheet, name: str) -> Picture:
    """The sheet as a picture; `name` must be an id that nothing else on the page has.

    To be called inside of `RC_OF_PAGES`.
    """
    drawn = io.StringIO()
    sheet.figure.savefig(drawn, format="svg", metadata={"Date": None, "Creator": None})
    root = ET.fromstring(drawn.getvalue())
    _strip(root)
    _rename(root, name)
    for element in root.iter():
        _tidy(element)
    _describe(root, sheet, name)
    return Picture(name, sheet.title, ET.tostring(root, "unicode", short_empty_elements=False))


def _strip(root: ET.Element) -> None:
    """Remove what is of no use inside a page: metadata with addresses, a style that would apply to
    all of the page, empty groups.
    """
    for parent in root.iter():
        for child in list(parent):
            if child.tag in (f"{SVG}metadata", f"{SVG}style"):
                parent.remove(child)
    while empty := [
        (parent, child)
        for parent in root.iter()
        for child in parent
        if child.tag in (f"{SVG}g", f"{SVG}defs") and not len(child)
    ]:
        for parent, child in empty:
            parent.remove(child)


def _rename(root: ET.Element, name: str) -> None:
    """Give each element that is referred to an id of this picture's own; remove all other ids."""
    wanted = list(dict.fromkeys(_references(root)))
    new = {old: f"{name}-{number}" for number, old in enumerate(wanted)}
    for element in root.iter():
        if (old := element.attrib.pop("id", None)) in new:
            element.set("id", new[str(old)])
        if (link := element.attrib.pop(XLINK, None)) is not None:
            element.set("href", f"#{new[link.removeprefix('#')]}")
        for key, value in element.items():
            element.set(key, REFERENCE.sub(lambda found: f"url(#{new[found[1]]})", value))


def _references(root: ET.Element) -> Iterator[str]:
    for element in root.iter():
        for key, value in element.items():
            if key == XLINK:
                yield value.removeprefix("#")
            yield from REFERENCE.findall(value)


def _tidy(element: ET.Element) -> None:
    """The same drawing in fewer characters, in the page's colours and font."""
    element.tag = element.tag.removeprefix(SVG)
    element.tail = None
    if element.tag != "text":
        element.text = None
    for key in NUMBERS:
        if (value := element.get(key)) is not None:
            element.set(key, LONG_NUMBER.sub(_shorter, value.replace("\n", "").strip()))
    if NO_TURN.match(element.get("transform", "")):
        del element.attrib["transform"]
    if style := element.get("style"):
        style = OF_THE_PAGE.sub("", style)
        style = HEX.sub(lambda found: COLOURS[found[0]], style)
        element.set("style", style.replace("; ", ";").replace(": ", ":"))


def _shorter(found: re.Match[str]) -> str:
    return f"{float(found[0]):.{DECIMALS}f}".rstrip("0").rstrip(".")


def _describe(root: ET.Element, sheet: Sheet, name: str) -> None:
    """Add a text alternative, and leave the size to the page."""
    for key in ("width", "height", "version"):
        root.attrib.pop(key, None)
    root.set("role", "img")
    root.set("aria-labelledby", f"{name}-title")
    root.set("aria-describedby", f"{name}-desc")
    description = f"{sheet.description}. The figures are in a table below."
    for place, (tag, text) in enumerate((("title", sheet.title), ("desc", description))):
        element = ET.Element(tag, {"id": f"{name}-{tag}"})
        element.text = text
        root.insert(place, element)
