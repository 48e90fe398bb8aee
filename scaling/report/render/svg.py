"""A figure as SVG: two thirds of Matplotlib's bytes, in the colours of its page."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from html import escape
from io import StringIO
from pathlib import Path
from zlib import crc32

from matplotlib import rc_context
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from scaling.report.render.style import (
    BORDER,
    CEILING,
    FAINT,
    INK,
    PNG_DPI,
    QUIET,
    RC,
    REGION_SHADES,
)

# Variables of the page's style sheet; alone, a drawing has these colours.
VARIABLES = {
    "#ffffff": "paper",
    INK: "ink",
    QUIET: "quiet",
    FAINT: "faint",
    CEILING: "faint",
    BORDER: "edge",
    "#8c8c8c": "edge",
    "#e3e3e3": "grid",
    REGION_SHADES["smt"]: "shade-1",
    REGION_SHADES["oversubscribed"]: "shade-2",
    "#11673f": "good",
    "#a3260b": "bad",
}
COLOUR = re.compile("|".join(VARIABLES))
NUMBER = re.compile(r"-?\d+\.\d{2,}")
GROUP_ID = re.compile(r'(?<=<g) id="[^"]*"')  # nothing refers to those of groups
ID = re.compile(r'\bid="|href="#|url\(#')
STYLE = re.compile(r'style="([^"]*)"')
TAG = re.compile(r"<[^>]+>")
METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)


@dataclass(frozen=True)
class Drawing:
    """A plot: the name of its file, its title, the figure, and a description in words."""

    name: str
    title: str
    figure: Figure
    description: str

    @cached_property
    def svg(self) -> str:
        """The figure as an `<svg>` element, which is a whole file, too."""
        return svg(self.figure, self.name, self.title)

    def write(self, file: Path) -> None:
        """Write the figure as SVG or PNG, by the suffix of the file. Raises `OSError`."""
        if file.suffix == ".svg":
            file.write_text(self.svg, encoding="utf-8")
        else:
            with rc_context(RC):
                self.figure.savefig(file, dpi=PNG_DPI)


def svg(figure: Figure, name: str, title: str) -> str:
    """The `<svg>` element of a figure, with text as text; ids and classes are unique by `name`."""
    text = StringIO()
    with rc_context(RC), _laid_out(figure):
        figure.savefig(text, format="svg", metadata={"Date": None})
    _, _, drawn = text.getvalue().partition("<svg")
    drawn = GROUP_ID.sub("", METADATA.sub("", drawn))
    drawn = TAG.sub(lambda tag: NUMBER.sub(_rounded, tag[0]), drawn)
    own = f"s{crc32(name.encode()):08x}"
    drawn = ID.sub(lambda found: f"{found[0]}{own}-", drawn)
    styles = {each: f"{own}-{n}" for n, each in enumerate(dict.fromkeys(STYLE.findall(drawn)))}
    drawn = STYLE.sub(lambda found: f'class="{styles[found[1]]}"', drawn)
    rules = "".join(f".{one}{{{style}}}" for style, one in styles.items())
    rules = COLOUR.sub(lambda found: f"var(--{VARIABLES[found[0]]}, {found[0]})", rules)
    drawn = re.sub(r"\s+", " ", drawn.replace("*{", f"{rules}*{{", 1))
    return f'<svg role="img" aria-label="{escape(title)}"{drawn}\n'


@contextmanager
def _laid_out(figure: Figure) -> Iterator[None]:
    """Put all into its place as SVG has it. To save a figure with a layout would draw it twice."""
    layout, dpi = figure.get_layout_engine(), figure.dpi
    FigureCanvasSVG(figure)
    if layout is not None:
        layout.execute(figure)
    figure.set_layout_engine(None)
    yield
    figure.set_layout_engine(layout)
    figure.set_dpi(dpi)


def _rounded(number: re.Match[str]) -> str:
    return f"{float(number[0]):.1f}".removesuffix(".0")
