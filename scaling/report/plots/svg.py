"""Small SVG: what Matplotlib draws, in a fifth of its bytes, without losing a dot.

Text stays text, which can be searched; labels were fitted in a wide font, so other fonts take no
more room. Coordinates have two decimals of a point, a hundredth of what can be seen. A style that
several elements have is a class. Title and description are SVG's own, for readers who cannot see
the picture. So is what a mark says (`say`): browsers show it where the mark is pointed at, and
screen readers read it out; no script has a part in it.
"""

import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import count, product
from string import ascii_lowercase
from typing import Any
from weakref import WeakKeyDictionary
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

from matplotlib.artist import Artist
from matplotlib.backend_bases import FigureCanvasBase
from matplotlib.backends.backend_svg import RendererSVG
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextToPath

from scaling.report.plots.style import POINTS_PER_IN

NAMESPACE = "http://www.w3.org/2000/svg"
SVG = f"{{{NAMESPACE}}}"
XLINK = "{http://www.w3.org/1999/xlink}href"
FALLBACK = "DejaVu Sans,Verdana,sans-serif"
REFERENCE = re.compile(r"url\(#([^)]+)\)")
NUMBER = re.compile(r"-?\d+\.\d+")
AROUND_COMMANDS = re.compile(r"\s*([A-Za-z])\s*")
NO_TURN = re.compile(r"^rotate\(-?0 [^)]*\)$")
FONT_FAMILY = re.compile(r"font-family: [^;]*; ?")
NUMBERS = ("x", "y", "width", "height", "transform")  # attributes that hold them, besides `d`
WITH_TEXT = ("text", "title")
DECIMALS = 2
TAG = re.compile(r"<[^>]+>")
NAMED = re.compile(r'( (?:id|class|aria-labelledby|aria-describedby)="|href="#|url\(#)')
CLASS = re.compile(r"\.(?=[a-z]+\{)")
SHEET = re.compile(r"(?<=<style>)[^<]*")
MOST_TEXTS = 4096  # whose size is kept
UNTYPED_RENDERER: Any = RendererSVG
AXIS = "matplotlib.axis_"  # how Matplotlib names the group of an axis, with a number
_said: WeakKeyDictionary[Artist, str | tuple[str, ...]] = WeakKeyDictionary()


def say(mark: Artist, words: str | Sequence[str]) -> None:
    """Have a mark of a panel say something: each of its dots its own words, or all of it one text.

    `words` are in the order of the dots.
    """
    _said[mark] = words if isinstance(words, str) else tuple(words)


@contextmanager
def _named(figure: Figure) -> Iterator[dict[str, str | tuple[str, ...]]]:
    """Have the marks that say something drawn under ids of their own; yields the words by id."""
    marks = [mark for axes in figure.axes for mark in axes.get_children() if mark in _said]
    gids = [mark.get_gid() for mark in marks]
    names = [f"said-{number}" for number in range(len(marks))]
    for mark, name in zip(marks, names, strict=True):
        mark.set_gid(name)
    try:
        yield {name: _said[mark] for name, mark in zip(names, marks, strict=True)}
    finally:
        for mark, gid in zip(marks, gids, strict=True):
            mark.set_gid(gid)


@lru_cache(MOST_TEXTS)
def _size(s: str, prop: FontProperties, ismath: Any) -> tuple[float, float, float]:
    return TextToPath().get_text_width_height_descent(s, prop, ismath)


def _renderer(drawn: io.StringIO, width: float = 0, height: float = 0) -> Any:
    """Matplotlib's renderer of a picture with that size in points; it measures a text once.

    Matplotlib would measure each twice for each sheet, for the layout and to draw it, which takes
    as long as all other drawing.
    """
    renderer = UNTYPED_RENDERER(width, height, drawn, metadata={"Date": None, "Creator": None})
    renderer.get_text_width_height_descent = _size
    return renderer


class _Canvas(FigureCanvasBase):
    def get_renderer(self) -> Any:
        """One that only measures."""
        return _renderer(io.StringIO())


@contextmanager
def in_points(figure: Figure) -> Iterator[None]:
    """Have the figure laid out, or drawn, as an SVG: its pixels are points."""
    dpi, canvas = figure.dpi, figure.canvas
    figure.dpi = POINTS_PER_IN
    _Canvas(figure)
    try:
        yield
    finally:
        figure.dpi = dpi
        figure.set_canvas(canvas)


def small_svg(figure: Figure, title: str, description: str) -> str:
    """The figure as an SVG document; the same drawing gives the same text."""
    drawn = io.StringIO()
    renderer = _renderer(drawn, *figure.get_size_inches() * POINTS_PER_IN)
    with in_points(figure), _named(figure) as said:
        figure.draw(renderer)
    renderer.finalize()
    root = ET.fromstring(drawn.getvalue())
    _strip(root)
    if said:
        _write_words(root, said)
    _rename(root)
    for element in root.iter():
        _tidy(element)
    _unwrap(root)
    _share_styles(root)
    _describe(root, title, description, role="group" if said else "img")
    return ET.tostring(root, "unicode") + "\n"


def one_of_several(svg: str, prefix: str, note: str) -> str:
    """A small SVG for a document with several: `prefix` begins its ids and the names of its
    classes, and `note` ends its description.
    """
    named = TAG.sub(lambda tag: _prefixed(tag[0], prefix), svg)
    named = SHEET.sub(lambda sheet: CLASS.sub(f".{prefix}", _prefixed(sheet[0], prefix)), named)
    return named.replace("</desc>", f"{escape(note)}</desc>")


def _prefixed(text: str, prefix: str) -> str:
    return NAMED.sub(rf"\1{prefix}", text)


def _strip(root: ET.Element) -> None:
    """Remove metadata with addresses, and the style that every document of Matplotlib has."""
    for parent in root.iter():
        for child in list(parent):
            if child.tag in (f"{SVG}metadata", f"{SVG}style"):
                parent.remove(child)


def _write_words(root: ET.Element, said: Mapping[str, str | tuple[str, ...]]) -> None:
    """Put what marks say into them. Ticks are not read out between them: alone they say nothing.

    Of a mark with a dot that is not drawn, such as one at infinity, no dot says anything.
    """
    for group in root.iter(f"{SVG}g"):
        name = group.get("id", "")
        if name.startswith(AXIS):
            group.set("aria-hidden", "true")
        words = said.get(name, ())
        told = [(group, words)] if isinstance(words, str) else _dots(group, words)
        for element, text in told:
            title = ET.Element(f"{SVG}title")
            title.text = text
            element.insert(0, title)


def _dots(group: ET.Element, words: Sequence[str]) -> list[tuple[ET.Element, str]]:
    dots = group.findall(f".//{SVG}use") if words else []
    return list(zip(dots, words, strict=True)) if len(dots) == len(words) else []


def _names() -> Iterator[str]:
    """Short names: a, b, …, z, aa, ab, …."""
    for length in count(1):
        yield from map("".join, product(ascii_lowercase, repeat=length))


def _rename(root: ET.Element) -> None:
    """Give each element that is referred to a short id; remove all other ids."""
    wanted = dict.fromkeys(_references(root))
    new = dict(zip(wanted, _names(), strict=False))
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
    """The same element in fewer characters."""
    element.tag = element.tag.removeprefix(SVG)
    element.tail = None
    if element.tag not in WITH_TEXT:
        element.text = None
    if path := element.get("d"):
        element.set("d", AROUND_COMMANDS.sub(r"\1", _short(path)).strip())
    for key in NUMBERS:
        if (value := element.get(key)) is not None:
            element.set(key, _short(value))
    if NO_TURN.match(element.get("transform", "")):
        del element.attrib["transform"]
    if style := element.get("style"):
        style = FONT_FAMILY.sub("", style)
        element.set("style", style.replace("; ", ";").replace(": ", ":"))


def _short(numbers: str) -> str:
    return NUMBER.sub(
        lambda found: f"{float(found[0]):.{DECIMALS}f}".rstrip("0").rstrip("."), numbers
    )


def _unwrap(parent: ET.Element) -> None:
    """Put the content of groups that say nothing in their place, and remove empty definitions."""
    for child in list(parent):
        _unwrap(child)
        is_bare = not child.attrib and child.find("title") is None
        if (child.tag == "g" and is_bare) or (child.tag in ("g", "defs") and not len(child)):
            place = list(parent).index(child)
            parent.remove(child)
            for offset, grandchild in enumerate(child):
                parent.insert(place + offset, grandchild)


def _share_styles(root: ET.Element) -> None:
    """Write a style that several elements have once, as a class."""
    used = Counter(style for element in root.iter() if (style := element.get("style")))
    shared = [style for style, times in used.most_common() if times > 1]
    names = dict(zip(shared, _names(), strict=False))
    for element in root.iter():
        if name := names.get(element.get("style", "")):
            del element.attrib["style"]
            element.set("class", name)
    sheet = ET.Element("style")
    sheet.text = "".join(f".{name}{{{style}}}" for style, name in names.items())
    root.insert(0, sheet)


def _describe(root: ET.Element, title: str, description: str, role: str) -> None:
    """Name the picture. Nothing inside of an `img` is read out; what is inside of a `group` is."""
    root.attrib.pop("version", None)
    root.set("xmlns", NAMESPACE)
    root.set("font-family", FALLBACK)
    root.set("role", role)
    for place, (tag, text) in enumerate((("title", title), ("desc", description))):
        element = ET.Element(tag, {"id": tag})
        element.text = text
        root.insert(place, element)
    root.set("aria-labelledby", "title")
    root.set("aria-describedby", "desc")
